// Multiplier of an ECP5, 18 x 18 bits, after Lattice's technical note 1267: a register at either
// operand, between the halves, and at the product, each with a clock, an enable and a reset of the
// four that there are. One clock; no cascades, and nothing of the third operand.
//
// Registers hold a pattern until they are first loaded: netlists must not rely on power-up.

module MULT18X18D (
  input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0, B17, B16,
      B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0, C17, C16, C15, C14, C13,
      C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0, SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
      CLK0, CLK1, CLK2, CLK3, CE0, CE1, CE2, CE3, RST0, RST1, RST2, RST3,
  output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
      P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);
  parameter REG_INPUTA_CLK = "NONE", REG_INPUTA_CE = "CE0", REG_INPUTA_RST = "RST0";
  parameter REG_INPUTB_CLK = "NONE", REG_INPUTB_CE = "CE0", REG_INPUTB_RST = "RST0";
  parameter REG_PIPELINE_CLK = "NONE", REG_PIPELINE_CE = "CE0", REG_PIPELINE_RST = "RST0";
  parameter REG_OUTPUT_CLK = "NONE", REG_OUTPUT_CE = "CE0", REG_OUTPUT_RST = "RST0";
  generate
    if (REG_INPUTA_CLK != "NONE" && REG_INPUTA_CLK != "CLK0"
        || REG_INPUTB_CLK != "NONE" && REG_INPUTB_CLK != "CLK0"
        || REG_PIPELINE_CLK != "NONE" && REG_PIPELINE_CLK != "CLK0"
        || REG_OUTPUT_CLK != "NONE" && REG_OUTPUT_CLK != "CLK0")
      $error("MULT18X18D: a register with another clock than the first, which this model lacks");
  endgenerate

  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  wire [3:0] enables = {CE3, CE2, CE1, CE0}, resets = {RST3, RST2, RST1, RST0};
  wire [17:0] first, second;
  wire [35:0] product, piped, result;
  MULT18X18D_REGISTER #(18, REG_INPUTA_CLK, REG_INPUTA_CE, REG_INPUTA_RST) operand_a (
    .clk(CLK0), .enables(enables), .resets(resets), .d(a), .q(first));
  MULT18X18D_REGISTER #(18, REG_INPUTB_CLK, REG_INPUTB_CE, REG_INPUTB_RST) operand_b (
    .clk(CLK0), .enables(enables), .resets(resets), .d(b), .q(second));
  assign product = {{18{SIGNEDA & first[17]}}, first} * {{18{SIGNEDB & second[17]}}, second};
  MULT18X18D_REGISTER #(36, REG_PIPELINE_CLK, REG_PIPELINE_CE, REG_PIPELINE_RST) pipeline (
    .clk(CLK0), .enables(enables), .resets(resets), .d(product), .q(piped));
  MULT18X18D_REGISTER #(36, REG_OUTPUT_CLK, REG_OUTPUT_CE, REG_OUTPUT_RST) register (
    .clk(CLK0), .enables(enables), .resets(resets), .d(piped), .q(result));

  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
      P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = result;
endmodule

// A register, or none where it has no clock.
module MULT18X18D_REGISTER (clk, enables, resets, d, q);
  parameter WIDTH = 18, CLOCK = "NONE", CE = "CE0", RST = "RST0";
  input clk;
  input [3:0] enables, resets;
  input [WIDTH - 1:0] d;
  output [WIDTH - 1:0] q;
  wire enable = CE == "CE0" ? enables[0] : CE == "CE1" ? enables[1]
              : CE == "CE2" ? enables[2] : enables[3];
  wire reset = RST == "RST0" ? resets[0] : RST == "RST1" ? resets[1]
             : RST == "RST2" ? resets[2] : resets[3];
  reg [WIDTH - 1:0] value;
  initial value = 36'h5a5a5a5a5;
  always @(posedge clk)
    if (reset) value <= 0;
    else if (enable) value <= d;
  assign q = CLOCK == "NONE" ? d : value;
endmodule
