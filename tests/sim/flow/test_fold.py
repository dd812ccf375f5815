# amaranth: UnusedElaboratable=no
"""Gates that move into carry cells: which, and that nothing else changes."""
import json

import pytest

from systolith.hw.lut_multiplier import LutMultipliers
from systolith.sim.flow.fold import fold
from systolith.sim.flow.netlist import Netlist
from systolith.sim.flow.synthesis import count
from systolith.sim.flow.tools import find_tool
from tests.bench import simulate, to_verilog
from tests.gates import gate_verilog
from tests.hw import test_lut_multiplier

#: A sum of selected operands, whose gates all can move.
SOURCE = """
module top(input [7:0] a, b, input x, y, output [7:0] sum);
  assign sum = (a & {8{x}}) + (b & {8{y}});
endmodule
"""


def synthesized(folder, source, top="top"):
    """The netlist of a source, before anything is folded."""
    (folder / "top.v").write_text(source)
    find_tool("yosys").run("-q", "-p", f"read_verilog top.v; synth_ecp5 -top {top}; "
                           "write_json netlist.json", folder=folder)
    return json.loads((folder / "netlist.json").read_text())


@pytest.mark.parametrize(("before", "after", "gone", "kept"), [
    ("+", "+", 16, 0),
    ("+", "-", 16, 0),
    ("a & {8{x}}", "a | {8{x}}", 16, 0),
    # An operand that is a wire has no table in front of it, nor has a cell with one gate a reason.
    ("(a & {8{x}})", "a", 0, 8),
    # A gate of three inputs stays, and its neighbour with it.
    ("(a & {8{x}})", "(a & {8{x}} & {8{y}})", 0, 16),
    # What others use stays for them.
    ("+ (b & {8{y}})", "+ (b & {8{y}}) ^ (b & {8{y}})", 8, 15),
    # Where both gates give 1 for two zeros, no two pins of the four say what the carry is.
    ("assign sum = (a & {8{x}}) + (b & {8{y}})", "assign sum = ~(a & {8{x}}) + ~(b & {8{y}})",
     0, 16),
])
def test_which_gates_move(tmp_path, before, after, gone, kept):
    netlist = Netlist(synthesized(tmp_path, SOURCE.replace(before, after)), top="top")
    assert fold(netlist) == gone
    assert count("ecp5", netlist)["lut"] == kept


#: Around the gates, so that the simulator need not keep each of their wires.
AROUND = """
module lut_multipliers(input clk, rst, input [8:0] left, input [15:0] rights,
                       output [15:0] products__0, products__1);
  gates cells(.clk(clk), .rst(rst), .left(left), .rights(rights), .products__0(products__0),
              .products__1(products__1));
endmodule
"""


def test_the_function_of_a_multiplier_stays(tmp_path):
    """Every pair of operands, as for the source."""
    design = synthesized(tmp_path, to_verilog(LutMultipliers(cols=2), "gates"), top="gates")
    netlist = Netlist(design, top="gates")
    before = count("ecp5", netlist)
    assert fold(netlist) >= 2 * 64
    after = count("ecp5", netlist)
    assert after["lut"] <= 2 * 8
    assert after | {"lut": 0} == before | {"lut": 0}
    (tmp_path / "netlist.json").write_text(json.dumps(design))
    simulate(gate_verilog("ecp5", tmp_path, top="gates") + AROUND, "lut_multipliers",
             test_lut_multiplier.__name__, parameters={"cols": 2})
