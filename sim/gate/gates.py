"""Netlists of a family's cells as Verilog that simulates as fast as it can.

Yosys replaces small cells, such as tables and flip-flops, by its own models of them. Blocks stay
cells, which keep their parameters; their models say what they do, see
:mod:`systolith.sim.gate.models`.
"""
from pathlib import Path

from systolith.hw.boards.board import Board
from systolith.hw.boards.top import TOP
from systolith.sim.flow.board_netlist import NETLIST, board_netlist
from systolith.sim.flow.tools import find_tool, warm_tool
from systolith.sim.gate.models import block_models
from systolith.sim.progress import Progress
from systolith.sim.store import cached, digest

_GATES = "gates.v"
_BLOCKS = "blocks.v"
#: Without NO_INCLUDES Yosys looks for parts of its ECP5 models in the wrong folder; EQUIV leaves
#: out the content of the iCE40's large RAM, a block. Names would be most of the text.
_SCRIPT = (f"read_json {NETLIST}; delete =A:blackbox; "
           "read_verilog -D NO_INCLUDES -D EQUIV +/{family}/cells_sim.v; "
           f"read_verilog -overwrite -lib {_BLOCKS}; hierarchy -check -top {{top}}; proc; flatten; "
           "delete t:$scopeinfo; opt_expr; opt_clean -purge; rename -hide; "
           f"write_verilog -noattr {_GATES}")


def gate_verilog(family: str, netlist: Path, *, folder: Path, top: str) -> str:
    """Verilog of a netlist, complete with its models.

    Parameters
    ----------
    netlist : Path
        What Yosys has written in JSON.
    folder : Path
        For files in between.

    Returns
    -------
    str
        A flat module ``top``, and the models of blocks.

    Raises
    ------
    FlowError
        When Yosys is missing or fails, as it does at a cell that has no model.
    """
    models = block_models(family)
    (folder / _BLOCKS).write_text(models)
    (folder / NETLIST).write_bytes(netlist.read_bytes())
    script = _SCRIPT.format(family=family, top=top)
    find_tool("yosys").run("-q", "-p", script, folder=folder)
    return (folder / _GATES).read_text() + models


def board_gates(board: Board, *, clocks_per_bit: float | None = None,
                progress: Progress) -> str:
    """Verilog of the netlist that is placed and routed for a board, from the cache or made.

    Parameters
    ----------
    clocks_per_bit : float, optional
        Cycles of a bit of the UART, instead of those that follow from the board's baud rate.

    Raises
    ------
    FlowError
        When Yosys is missing or fails.
    """
    warm_tool("yosys", progress)
    netlist = board_netlist(board, clocks_per_bit=clocks_per_bit, progress=progress) / NETLIST

    def build(folder: Path) -> None:
        with progress.stage("gates"):
            verilog = gate_verilog(board.family, netlist, folder=folder, top=TOP)
        for path in folder.iterdir():
            path.unlink()
        (folder / _GATES).write_text(verilog)

    key = digest(netlist.read_bytes(), find_tool("yosys").version, _SCRIPT,
                 block_models(board.family))
    return (cached("gates", key, build) / _GATES).read_text()
