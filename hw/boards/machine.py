"""What a board has behind clock, reset and pins."""
from systolith.hw.boards.board import Board
from systolith.hw.boards.pll import dividers
from systolith.hw.configs import get_config
from systolith.hw.machine import Machine
from systolith.hw.sdram.sdram import Sdram


def machine_of(board: Board, *, clocks_per_bit: float | None = None) -> Machine:
    """The machine of a board: external memory is its SDRAM, or else block RAM.

    Parameters
    ----------
    board : Board
        Clock, configuration and memory.
    clocks_per_bit : float, optional
        Cycles of a bit of the UART, instead of those that follow from its baud rate: a simulated
        line need not be slow.
    """
    config, clock_hz = get_config(board.config), dividers(board).mhz * 1e6
    baud = board.baud if clocks_per_bit is None else clock_hz / clocks_per_bit
    memory = board.sdram and Sdram(bus_bytes=config.bus_bytes, chip=board.sdram.chip,
                                   clock_hz=clock_hz)
    return Machine(config=config, clock_hz=clock_hz, baud=baud, memory=memory,
                   ext_bytes=board.ext_bytes(config), vendor=board.family == "ice40")
