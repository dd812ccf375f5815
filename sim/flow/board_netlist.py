"""From a board to its Verilog and to its netlist, from the cache or made."""
from pathlib import Path

from systolith.hw.boards.board import Board
from systolith.hw.boards.machine import machine_of
from systolith.hw.boards.top import TOP, BoardTop
from systolith.hw.configs import get_config
from systolith.hw.verilog import to_verilog
from systolith.sim.chip import hardware_digest
from systolith.sim.flow import synthesis
from systolith.sim.progress import Progress
from systolith.sim.store import cached, digest

_SOURCE = f"{TOP}.v"
#: Its name in the folder.
NETLIST = "netlist.json"


def board_verilog(board: Board, *, clocks_per_bit: float | None = None,
                  progress: Progress) -> Path:
    """Verilog of a board's top level.

    Parameters
    ----------
    clocks_per_bit : float, optional
        Cycles of a bit of the UART, instead of those that follow from the board's baud rate.

    Returns
    -------
    Path
        The file, in the cache.
    """
    def generate(folder: Path) -> None:
        with progress.stage("Verilog"):
            top = BoardTop(board=board, machine=machine_of(board, clocks_per_bit=clocks_per_bit))
            (folder / _SOURCE).write_text(to_verilog(top, name=TOP).text)

    key = digest(hardware_digest(get_config(board.config)), f"{board!r} {clocks_per_bit!r}")
    return cached("board-verilog", key, generate) / _SOURCE


def board_netlist(board: Board, *, clocks_per_bit: float | None = None,
                  progress: Progress) -> Path:
    """Folder with ``netlist.json`` and ``cells.json`` of a board's top level, in the cache.

    Raises
    ------
    FlowError
        When Yosys is missing or fails.
    """
    source = board_verilog(board, clocks_per_bit=clocks_per_bit, progress=progress)
    return synthesis.synthesized(board.family, source.read_text(), top=TOP, progress=progress)
