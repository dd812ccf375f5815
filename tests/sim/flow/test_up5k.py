"""What the parts of the iCE40 UP5K become in the netlist of a whole board."""
import json

import pytest

from systolith.hw.boards.boards import BOARDS
from systolith.hw.boards.machine import machine_of
from systolith.hw.boards.top import TOP, BoardTop
from systolith.hw.compact.multiplier import PARAMETERS
from systolith.hw.verilog import to_verilog
from systolith.sim.flow import synthesis


@pytest.mark.slow
def test_every_memory_and_multiplier_is_what_it_is_meant_to_be(tmp_path):
    board = BOARDS["icebreaker"]
    (tmp_path / "top.v").write_text(
        to_verilog(BoardTop(board=board, machine=machine_of(board)), name=TOP).text)
    counts = synthesis.synthesize("ice40", folder=tmp_path, source="top.v", top=TOP)
    assert (counts["dsp"], counts["spram"]) == (8, 4)
    # 8 activations, 8 accumulators, 8 code, 2 registers, 2 the link's buffer.
    assert counts["bram"] == 28
    assert counts["lut"] < 3600
    design = json.loads((tmp_path / "netlist.json").read_text())
    parts = [cell for cell in design["modules"][TOP]["cells"].values()
             if cell["type"] == "SB_MAC16"]
    for part in parts:
        for name, value in PARAMETERS.items():
            assert int(part["parameters"][name], 2) == value, name
