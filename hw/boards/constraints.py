"""The constraint file of a board: which port of the top level is at which pin."""
from pathlib import Path

from systolith.hw.boards.board import Board


def constraints(board: Board, *, aim: float = 1) -> str:
    """Text of the board's ``.pcf`` (iCE40) or ``.lpf`` (ECP5) file.

    Parameters
    ----------
    aim : float
        How many times faster an oscillator the tools are told of than there is. They derive from it
        the clock behind the PLL, and a slow one lets them leave paths as they are.
    """
    head = f"# {board.title}: pins of the top level. Written by `make docs` from hw/boards.\n"
    write = {"ice40": _pcf, "ecp5": _lpf}[board.family]
    return head + write(board, board.oscillator_mhz * aim)


def file_name(board: Board) -> str:
    """Name of that file."""
    ending = {"ice40": "pcf", "ecp5": "lpf"}[board.family]
    return f"{board.name}.{ending}"


def _pcf(board: Board, mhz: float) -> str:
    lines = [f"set_frequency clock {mhz:g}"]
    lines += [" ".join(["set_io", *pin.attributes, port, pin.site])
              for port, pin in board.pins.items()]
    return "\n".join(lines) + "\n"


def _lpf(board: Board, mhz: float) -> str:
    lines = [f'FREQUENCY PORT "clock" {mhz:g} MHZ;']
    for port, pin in board.pins.items():
        lines.append(f'LOCATE COMP "{port}" SITE "{pin.site}";')
        lines.append(f'IOBUF PORT "{port}" {" ".join(pin.attributes)};')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    from systolith.hw.boards.boards import BOARDS

    for each in BOARDS.values():
        Path("constraints", file_name(each)).write_text(constraints(each))
