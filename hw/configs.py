"""The named configurations."""
import re

from systolith.hw.config import Config, ConfigError

_SIMULATED = (
    # Tests in seconds; memories large enough for a whole small model.
    Config(name="tiny", rows=4, cols=4, lanes=4, act_depth=16384, wgt_depth=8192, acc_depth=4096,
           vec_depth=16384, const_depth=1024, row_depth=1024, bus_bytes=4),
    # Rows differ from columns, and the vector unit is narrower than the array.
    Config(name="tall", rows=8, cols=4, lanes=2, act_depth=8192, wgt_depth=4096, acc_depth=4096,
           vec_depth=32768, const_depth=2048, row_depth=1024, bus_bytes=4),
    # The reference for figures.
    Config(name="sim16", rows=16, cols=16, lanes=16, act_depth=8192, wgt_depth=4096, acc_depth=2048,
           vec_depth=8192, const_depth=512, row_depth=1024, bus_bytes=16,
           ext_bytes=1 << 28),
    # The same array with the weights of a layer of SmolLM2 in the core.
    Config(name="deep16", rows=16, cols=16, lanes=16, act_depth=8192, wgt_depth=16384,
           acc_depth=2048, vec_depth=8192, const_depth=512, row_depth=1024, bus_bytes=16,
           ext_bytes=1 << 28),
)

_BOARDS = (
    # The ECP5's can address an SDRAM of 32 MiB; a board without one has block RAM for a part of it.
    # The multipliers that the array leaves go to the vector unit, six a lane.
    Config(name="ecp5-85f", rows=16, cols=8, lanes=4, hop=4, act_depth=1024, wgt_depth=1024,
           acc_depth=1024, vec_depth=4096, const_depth=512, row_depth=512, bus_bytes=4,
           scalar_cycles=10, read_cycles=2, port_cycles=1, multiply_cycles=2, ext_bytes=1 << 25),
    # Twice as many cells out of as many multipliers: half of the columns do without. The rows are
    # doubled, not the columns: so is the activation memory, not the accumulators (docs/boards.md).
    Config(name="ecp5-85f-256", rows=32, cols=8, lanes=4, hop=4, multiply_cycles=2, lut_columns=4,
           act_depth=1024, wgt_depth=1024, acc_depth=1024, vec_depth=4096, const_depth=512,
           row_depth=512, bus_bytes=4, scalar_cycles=10, read_cycles=2, port_cycles=1,
           ext_bytes=1 << 25),
    Config(name="ecp5-25f", rows=4, cols=4, lanes=2, act_depth=2048, wgt_depth=1024,
           acc_depth=1024, vec_depth=2048, const_depth=512, row_depth=512, bus_bytes=4,
           scalar_cycles=10, read_cycles=2, port_cycles=1, multiply_cycles=2, ext_bytes=1 << 25),
    # Everything but activations and accumulators is in the four single-port RAMs.
    Config(name="ice40up5k", microarchitecture="compact", rows=8, cols=2, lanes=2, act_depth=512,
           wgt_depth=4096, acc_depth=512, vec_depth=4096, const_depth=512, row_depth=512,
           queue_depth=128, bus_bytes=4, ext_bytes=1 << 15),
)

#: Meshes with names of their own: the reference core, side by side.
_MESHES = {"mesh4": "sim16@2x2", "mesh16": "sim16@4x4"}

#: Core of a mesh that is named by its size alone.
_MESH_CORE = "sim16"

#: Those that are made for simulation, and all; each a single core.
SIMULATED = {config.name: config for config in _SIMULATED}
CONFIGS = SIMULATED | {config.name: config for config in _BOARDS}


def get_config(name: str) -> Config:
    """The configuration of that name.

    ``CORE@WxH`` is a mesh of W x H cores of a named configuration, such as ``tiny@2x2``; ``WxH``
    alone has ``sim16`` cores. ``mesh4`` and ``mesh16`` are 2x2 and 4x4.

    Raises
    ------
    ConfigError
        When there is none; the message lists those that exist.
    """
    mesh = re.fullmatch(r"(?:([\w-]+)@)?(\d+)x(\d+)", _MESHES.get(name, name))
    core = name if mesh is None else mesh[1] or _MESH_CORE
    if core not in CONFIGS:
        raise ConfigError(f"unknown configuration {name!r}; choose one of "
                          f"{', '.join([*CONFIGS, *_MESHES])}, or a mesh such as tiny@2x2")
    if mesh is None:
        return CONFIGS[core]
    width, height = int(mesh[2]), int(mesh[3])
    return CONFIGS[core].replace(name=f"{core}@{width}x{height}", mesh_width=width,
                                 mesh_height=height)
