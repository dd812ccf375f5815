"""A wire between FPGA and board."""
from typing import NamedTuple


class Pin(NamedTuple):
    """One wire between FPGA and board.

    ``site`` is the ball or pin of the package, ``inverted`` says that the board acts on a low
    level, and ``attributes`` are those of the pad, in the words of the family's constraints.
    """

    site: str
    attributes: tuple[str, ...] = ()
    inverted: bool = False
