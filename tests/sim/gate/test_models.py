"""Each block of a family in each mode that netlists use: what the netlist does on random input is
what its source says, which knows nothing of the block."""
import ctypes
import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from systolith.hw.boards.boards import BOARDS
from systolith.hw.boards.top import TOP
from systolith.sim.flow.board_netlist import NETLIST, board_netlist
from systolith.sim.flow.netlist import Netlist
from systolith.sim.flow.synthesis import synthesize
from systolith.sim.flow.tools import FlowError
from systolith.sim.gate import models
from systolith.sim.gate.gates import gate_verilog
from systolith.sim.progress import Progress
from systolith.sim.toolchain import ToolchainError
from systolith.sim.verilate import build_library

HERE = Path(__file__).parent
CYCLES = 30_000

#: Instances of the sources, in the order of their places in `q`.
INSTANCES = {
    "ecp5": ["rows", "halves", "nines", "fours", "twos", "ones", "late_rows", "late_halves",
             "late_nines", "content", "shallow", "bare", "registered", "controlled", "positive"],
    "ice40": ["rows", "bytes", "fours", "twos", "huge", "products", "content"],
}
#: What they become.
BLOCKS = {"ecp5": {"DP16KD": 10, "TRELLIS_DPR16X4": 2, "MULT18X18D": 4},
          "ice40": {"SB_RAM40_4K": 5, "SB_SPRAM256KA": 1, "SB_MAC16": 1}}


#: Parameters that say in which mode a block is.
MODE = re.compile(r"DATA_WIDTH_.|REGMODE_.|WRITEMODE_.|RESETMODE|REG_\w+_CLK|READ_MODE|WRITE_MODE"
                  r"|[ABCD]_REG|\w+_MULT_REG\d?|\w+(PUT|CARRY)_?SELECT|MODE_8x8|[AB]_SIGNED")


class Built(NamedTuple):
    """Cells by type, the modes of blocks, and the Verilog of the netlist."""

    cells: Counter
    modes: set
    gates: str


def modes(family, netlist):
    """The modes of all blocks: type and parameters."""
    return {(cell["type"], *sorted((name, value) for name, value in cell["parameters"].items()
                                   if MODE.fullmatch(name) and value != "NONE"))
            for cell in netlist.cells.values() if cell["type"] in BLOCKS[family]}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """By family."""
    found = {}
    for family in BLOCKS:
        folder = tmp_path_factory.mktemp(family)
        (folder / "source.v").write_text((HERE / f"{family}.v").read_text())
        synthesize(family, folder=folder, source="source.v", top="source")
        path = folder / "netlist.json"
        netlist = Netlist(json.loads(path.read_text()), top="source")
        found[family] = Built(Counter(cell["type"] for cell in netlist.cells.values()),
                              modes(family, netlist),
                              gate_verilog(family, path, folder=folder, top="source"))
    return found


def differing(family, gates):
    """Instances whose netlist did something else than the source."""
    parts = [(HERE / "pair.v").read_text(), (HERE / f"{family}.v").read_text(),
             gates.replace("module source(", "module gates(")]
    library = build_library("\n".join(parts), top="pair", harness=HERE / "pair.cpp",
                            progress=Progress(quiet=True))
    run = ctypes.CDLL(str(library)).systolith_pair
    run.restype, run.argtypes = ctypes.c_uint64, [ctypes.c_uint64]
    found = run(CYCLES)
    return [name for bit, name in enumerate(INSTANCES[family]) if found >> bit & 1]


@pytest.mark.parametrize("family", BLOCKS)
def test_a_netlist_does_what_its_source_says(built, family):
    found = built[family].cells
    assert {kind: found[kind] for kind in BLOCKS[family]} == BLOCKS[family]
    assert differing(family, built[family].gates) == []


@pytest.mark.parametrize(("family", "good", "bad", "differ"), [
    ("ecp5", ".SIGNEDA(1'h1)", ".SIGNEDA(1'h0)", ["bare", "registered", "controlled"]),
    ("ecp5", '.REGMODE_B("OUTREG")', '.REGMODE_B("NOREG")',
     ["late_rows", "late_halves", "late_nines"]),
    ("ice40", ".MODE_8x8(1'h1)", ".MODE_8x8(1'h0)", ["products"]),
    ("ice40", ".READ_MODE(2'h1)", ".READ_MODE(2'h0)", ["bytes"])])
def test_a_wrong_mode_is_noticed(built, family, good, bad, differ):
    gates = built[family].gates
    assert good in gates
    assert differing(family, gates.replace(good, bad)) == differ


def test_a_mode_without_a_model_is_refused(built):
    gates = built["ecp5"].gates
    with pytest.raises(ToolchainError, match="inverted clock, which this model lacks"):
        differing("ecp5", gates.replace('.CLKAMUX("CLKA")', '.CLKAMUX("INV")'))


def test_models_of_yosys_that_are_missing_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "share_folder", lambda tool: tmp_path)
    with pytest.raises(FlowError, match=r"models of ice40 cells cannot be read: .*cells_sim\.v"):
        models.block_models("ice40")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["icebreaker", "ulx3s-25f", "ulx3s-85f", "orangecrab-25f"])
def test_boards_have_no_other_modes(built, name):
    board = BOARDS[name]
    folder = board_netlist(board, progress=Progress(quiet=True))
    netlist = Netlist(json.loads((folder / NETLIST).read_text()), top=TOP)
    assert modes(board.family, netlist) <= built[board.family].modes
