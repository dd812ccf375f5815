"""Refuses work that a core without a vector unit cannot do."""
from systolith.hw.config import Config
from systolith.hw.configs import CONFIGS
from systolith.sw.compiler.errors import CompileError


def check_vector_unit(config: Config, what: str) -> None:
    """Refuse a configuration whose core only moves and multiplies.

    Parameters
    ----------
    config : Config
    what : str
        What is compiled, for the message.

    Raises
    ------
    CompileError
        When the core is compact; the message lists the configurations that have a vector unit.
    """
    if config.compact:
        others = ", ".join(name for name, each in CONFIGS.items() if not each.compact)
        raise CompileError(f"{what} needs a vector unit, but configuration {config.name!r} has "
                           f"a compact core, which only moves and multiplies; choose one of "
                           f"{others}")
