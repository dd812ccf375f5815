"""Netlists of a family's cells as plain Verilog, for simulation beside the RTL.

Yosys brings models of the small cells. Those of the ECP5 that it has not are written here after
Lattice's technical notes 1264 (memory) and 1267 (multiplier): synchronous, one clock, no cascades;
of the memory without its write-through modes.
"""
from pathlib import Path

from systolith.sim.flow.tools import find_tool

_LIBRARIES = {"ecp5": "+/ecp5/cells_sim.v", "ice40": "+/ice40/cells_sim.v"}

MULTIPLIER_BITS = 18


def _bits(name, count):
    """Single-bit ports of a bus, and the bus as an expression."""
    ports = [f"{name}{bit}" for bit in range(count)]
    return ports, "{" + ", ".join(reversed(ports)) + "}"


def multiplier_model() -> str:
    """``MULT18X18D`` with registers at A, B and P, each with its enable and reset."""
    a, all_a = _bits("A", MULTIPLIER_BITS)
    b, all_b = _bits("B", MULTIPLIER_BITS)
    c, _ = _bits("C", MULTIPLIER_BITS)
    p, all_p = _bits("P", 2 * MULTIPLIER_BITS)
    controls = [f"{kind}{index}" for kind in ("CLK", "CE", "RST") for index in range(4)]
    inputs = [*a, *b, *c, "SIGNEDA", "SIGNEDB", "SOURCEA", "SOURCEB", *controls]
    values = {"INPUTA": ("ra", "a"), "INPUTB": ("rb", "b"), "OUTPUT": ("rp", "product")}
    registers = "".join(_register(*values[which], which) for which in values)
    parameters = "".join(f'  parameter REG_{which}_CLK = "NONE";\n'
                         f'  parameter REG_{which}_CE = "CE0";\n'
                         f'  parameter REG_{which}_RST = "RST0";\n' for which in values)
    return f"""
module MULT18X18D({", ".join([*inputs, *p])});
{parameters}  input {", ".join(inputs)};
  output {", ".join(p)};
  wire [17:0] a = {all_a}, b = {all_b};
  reg [17:0] ra, rb;
  reg [35:0] rp;
  wire [17:0] ua = REG_INPUTA_CLK == "NONE" ? a : ra;
  wire [17:0] ub = REG_INPUTB_CLK == "NONE" ? b : rb;
  wire signed [35:0] wa = {{{{18{{SIGNEDA & ua[17]}}}}, ua}};
  wire signed [35:0] wb = {{{{18{{SIGNEDB & ub[17]}}}}, ub}};
  wire [35:0] product = wa * wb;
  wire [3:0] ce = {{CE3, CE2, CE1, CE0}}, rst = {{RST3, RST2, RST1, RST0}};
{registers}\
  assign {all_p} = REG_OUTPUT_CLK == "NONE" ? product : rp;
endmodule
"""


def _register(name, value, which):
    def index(parameter, prefix):
        tests = " : ".join(f'REG_{which}_{parameter} == "{prefix}{i}" ? {i}' for i in range(3))
        return f"({tests} : 3)"
    return (f"  always @(posedge CLK0)\n"
            f"    if (rst[{index('RST', 'RST')}]) {name} <= 0;\n"
            f"    else if (ce[{index('CE', 'CE')}]) {name} <= {value};\n")


def memory_model() -> str:
    """``DP16KD``: 1,024 words of 18 bits on each of two ports, or one port of 36 bits a side.

    An 18-bit word has two bytes of 9 bits, each with an enable in the lowest address bits; narrower
    words use the bits from the lowest on, and the eighth bit of each byte in widths below 9 is not
    used. Read data wait for the clock enable; the output register, where it is on, for ``OCE``.
    """
    ports, declarations = [], []
    for side in "AB":
        buses = {f"AD{side}": 14, f"DI{side}": 18, f"CS{side}": 3}
        for name, count in buses.items():
            ports += (found := _bits(name, count))[0]
            declarations.append(f"  wire [{count - 1}:0] {name.lower()} = {found[1]};")
        ports += [f"{name}{side}" for name in ("CLK", "CE", "OCE", "WE", "RST")]
    outputs = [bit for side in "AB" for bit in _bits(f"DO{side}", 18)[0]]
    values = "".join(f"  parameter INITVAL_{index:02X} = 320'h0;\n" for index in range(64))
    load = "".join(f"    for (i = 0; i < 16; i = i + 1) words[{16 * index} + i] = "
                   f"INITVAL_{index:02X}[20 * i +: 18];\n" for index in range(64))
    return f"""
module DP16KD({", ".join([*ports, *outputs])});
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18;
  parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG", RESETMODE = "SYNC", GSR = "DISABLED";
  parameter ASYNC_RESET_RELEASE = "SYNC", WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000", CLKAMUX = "CLKA", CLKBMUX = "CLKB";
{values}  input {", ".join(ports)};
  output {", ".join(outputs)};
{chr(10).join(declarations)}
  reg [17:0] words [0:1023];
  integer i;
  initial begin
{load}  end
  reg [35:0] qa, qb, ra, rb;
{_port("a", "b")}{_port("b", "a")}\
  wire [35:0] oa = REGMODE_A == "OUTREG" ? ra : qa, ob = REGMODE_B == "OUTREG" ? rb : qb;
  // A word of 36 bits leaves over both sides, whichever port has read it.
  assign {_bits("DOA", 18)[1]} = DATA_WIDTH_B == 36 ? ob[17:0] : oa[17:0];
  assign {_bits("DOB", 18)[1]} = DATA_WIDTH_B == 36 ? ob[35:18] : ob[17:0];
endmodule
"""


def _port(side, other):
    """Write and read of one port; a port of 36 bits takes the data of both sides."""
    upper = side.upper()
    narrow = "".join(f"""
        {width}: begin
          if (WE{upper}) words[ad{side}[13:4]][{offset}] <= di{side}{taken};
          q{side} <= {given};
        end""" for width, offset, taken, given in (
            (9, f"9 * ad{side}[3] +: 9", "[8:0]", f"words[ad{side}[13:4]][9 * ad{side}[3] +: 9]"),
            (4, f"9 * ad{side}[3] + 4 * ad{side}[2] +: 4", "[3:0]",
             f"words[ad{side}[13:4]][9 * ad{side}[3] + 4 * ad{side}[2] +: 4]"),
            (2, f"9 * ad{side}[3] + 2 * ad{side}[2:1] +: 2", "[1:0]",
             f"words[ad{side}[13:4]][9 * ad{side}[3] + 2 * ad{side}[2:1] +: 2]"),
            (1, f"9 * ad{side}[3] + ad{side}[2:0] +: 1", "[0:0]",
             f"words[ad{side}[13:4]][9 * ad{side}[3] + ad{side}[2:0] +: 1]")))
    return f"""  always @(posedge CLK{upper}) begin
    if (OCE{upper} || DATA_WIDTH_{upper} == 36) r{side} <= q{side};
    if (CE{upper})
      case (DATA_WIDTH_{upper})
        36: begin
          if (WE{upper}) begin
            if (ad{side}[0]) words[{{ad{side}[13:5], 1'b0}}][8:0] <= dia[8:0];
            if (ad{side}[1]) words[{{ad{side}[13:5], 1'b0}}][17:9] <= dia[17:9];
            if (ad{side}[2]) words[{{ad{side}[13:5], 1'b1}}][8:0] <= dib[8:0];
            if (ad{side}[3]) words[{{ad{side}[13:5], 1'b1}}][17:9] <= dib[17:9];
          end
          q{side} <= {{words[{{ad{side}[13:5], 1'b1}}], words[{{ad{side}[13:5], 1'b0}}]}};
        end
        18: begin
          if (WE{upper} && ad{side}[0]) words[ad{side}[13:4]][8:0] <= di{side}[8:0];
          if (WE{upper} && ad{side}[1]) words[ad{side}[13:4]][17:9] <= di{side}[17:9];
          q{side} <= words[ad{side}[13:4]];
        end{narrow}
      endcase
  end
"""


def gate_verilog(family: str, folder: Path, *, top: str) -> str:
    """Verilog of the ``netlist.json`` in a folder: each cell replaced by its model, all flat."""
    (folder / "models.v").write_text(
        multiplier_model() + memory_model() if family == "ecp5" else "")
    script = [
        # As Verilog, the netlist forgets that its cells are black boxes.
        "read_json netlist.json", f"select {top}", "write_verilog -noattr -selected cells.v",
        "design -reset", f"read_verilog -overwrite {_LIBRARIES[family]}",
        "read_verilog -overwrite models.v", "read_verilog cells.v", f"hierarchy -top {top}",
        "proc", "flatten", "delete t:$scopeinfo", "opt_expr", "opt_mem", "opt_clean -purge",
        "write_verilog -noattr gates.v"]
    find_tool("yosys").run("-q", "-p", "; ".join(script), folder=folder)
    return (folder / "gates.v").read_text()
