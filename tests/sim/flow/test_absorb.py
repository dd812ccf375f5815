"""Registers that become part of multipliers and memories: which, and that nothing else changes."""
import json
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from systolith.sim.flow.absorb import Absorbed, absorb
from systolith.sim.flow.netlist import Netlist
from systolith.sim.flow.tools import find_tool
from tests.bench import simulate
from tests.gates import gate_verilog

#: A product of registers with and without enable, the second operand with a reset, and a memory
#: with a register behind it.
SOURCE = """
module top(input clk, input [8:0] a, input [7:0] b, input load, clear, input [6:0] address,
           input write, output reg [15:0] sum, output reg [15:0] late);
  reg signed [8:0] x;
  reg signed [7:0] w;
  reg signed [7:0] v;
  reg signed [15:0] p, q;
  reg [15:0] memory [0:127];
  reg [15:0] read;
  always @(posedge clk) begin
    x <= a;
    if (load) w <= b;
    v <= clear ? 8'd0 : b;
    p <= x * w;
    q <= x * v;
    sum <= p + q;
    if (write) memory[address] <= {a[7:0], b};
    read <= memory[address ^ 7'd1];
    late <= read;
  end
endmodule
"""


def synthesized(folder, source):
    """Folder with the netlist of a source, before anything is absorbed."""
    (folder / "top.v").write_text(source)
    find_tool("yosys").run("-q", "-p", "read_verilog top.v; synth_ecp5 -no-rw-check -top top; "
                           "write_json netlist.json", folder=folder)
    return json.loads((folder / "netlist.json").read_text())


def test_all_registers_go_into_the_blocks(tmp_path):
    netlist = Netlist(synthesized(tmp_path, SOURCE), top="top")
    found = absorb(netlist)
    assert found[:3] == Absorbed(operands=4, products=2, memories=1, flip_flops=0)[:3]
    assert found.flip_flops >= 9 + 8 + 8 + 16 + 16 + 16
    kept = sum(1 for _ in netlist.of_type("TRELLIS_FF"))
    assert kept == 16, "the sum's alone"
    for _, cell in netlist.of_type("MULT18X18D"):
        assert {cell["parameters"][f"REG_{name}_CLK"]
                for name in ("INPUTA", "INPUTB", "OUTPUT")} == {"CLK0"}
    (memory,) = (cell for _, cell in netlist.of_type("DP16KD"))
    assert memory["parameters"]["REGMODE_A"] == memory["parameters"]["REGMODE_B"] == "OUTREG"
    assert memory["connections"]["OCEA"] == memory["connections"]["OCEB"] == ["1"]


@pytest.mark.parametrize(("before", "after", "expected"), [
    # A product that is used before its register, too, keeps it.
    ("sum <= p + q;", "sum <= p + q + x * w;", {"products": 1}),
    # So does a word of memory.
    ("late <= read;", "late <= read + read[0];", {"memories": 0}),
    # A register that holds its value under a reset is not one of these blocks.
    ("v <= clear ? 8'd0 : b;", "if (clear) v <= 0; else if (load) v <= b;", {"operands": 3}),
])
def test_what_the_blocks_cannot_hold_stays(tmp_path, before, after, expected):
    netlist = Netlist(synthesized(tmp_path, SOURCE.replace(before, after)), top="top")
    found = absorb(netlist)._asdict()
    assert {name: found[name] for name in expected} == expected


#: The source and its gates side by side.
PAIR = """
module pair(input clk, input [8:0] a, input [7:0] b, input load, clear, input [6:0] address,
            input write, output [15:0] sum, late, gate_sum, gate_late);
  top source(.clk(clk), .a(a), .b(b), .load(load), .clear(clear), .address(address),
             .write(write), .sum(sum), .late(late));
  gates cells(.clk(clk), .a(a), .b(b), .load(load), .clear(clear), .address(address),
              .write(write), .sum(gate_sum), .late(gate_late));
endmodule
"""


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def gates_do_what_the_source_does(dut):
    rng = random.Random(4)
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    distinct = set()
    for cycle in range(4000):
        dut.a.value, dut.b.value = rng.getrandbits(9), rng.getrandbits(8)
        dut.load.value, dut.clear.value = rng.random() < 0.3, rng.random() < 0.3
        # All of the memory is written first: what it holds at power-up is not compared.
        dut.address.value = cycle if cycle < 128 else rng.randrange(128)
        dut.write.value = cycle < 128 or rng.random() < 0.5
        dut.load.value = 1 if cycle < 4 else dut.load.value
        await RisingEdge(dut.clk)
        if cycle > 136:
            assert int(dut.gate_sum.value) == int(dut.sum.value), cycle
            assert int(dut.gate_late.value) == int(dut.late.value), cycle
            distinct.add(int(dut.sum.value))
    assert len(distinct) > 1000


def test_the_function_stays(tmp_path):
    design = synthesized(tmp_path, SOURCE)
    absorb(Netlist(design, top="top"))
    (tmp_path / "netlist.json").write_text(json.dumps(design))
    gates = gate_verilog("ecp5", tmp_path, top="top").replace("module top(", "module gates(")
    simulate(SOURCE + gates + PAIR, "pair", __name__)
