"""What the cores on a mesh are: a named configuration, of which some sizes may be others."""
from collections.abc import Sequence
from dataclasses import fields

from systolith.hw.config import Config, ConfigError
from systolith.hw.configs import get_config

#: Sizes that belong to the chip around a core.
_CHIP = ("mesh_width", "mesh_height")

#: Sizes of a core, by the names of :class:`Config`.
SIZES = tuple(field.name for field in fields(Config)
              if field.type in (int, "int") and field.name not in _CHIP)


def core_of(name: str, sizes: Sequence[str] = ()) -> Config:
    """The configuration of one core.

    Parameters
    ----------
    name : str
        Of a configuration.
    sizes : sequence of str
        Other sizes than it has, such as ``wgt_depth=2048``. They become part of the name.

    Raises
    ------
    ConfigError
        When there is no such configuration of one core, no such size, or it is outside its limit.
    """
    core = get_config(name)
    if core.cores > 1:
        raise ConfigError(f"{name!r} is a mesh of {core.cores} cores; give the configuration of "
                          "one, such as sim16, and the mesh by its columns and rows")
    return core.replace(name=" ".join([name, *sizes]), **dict(map(_size, sizes))) if sizes else core


def _size(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if name not in SIZES or not value.isdecimal():
        raise ConfigError("a size of a core is given as NAME=N, like wgt_depth=2048, not "
                          f"{text!r}; choose of {', '.join(SIZES)}")
    return name, int(value)


def on_mesh(core: Config, width: int, height: int) -> Config:
    """A chip of ``width`` x ``height`` of these cores; for one of them the core itself."""
    if width * height == 1:
        return core
    return core.replace(name=f"{core.name}@{width}x{height}", mesh_width=width, mesh_height=height)
