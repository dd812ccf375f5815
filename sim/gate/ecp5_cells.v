// What the cells of an ECP5 do that a board's top level has beside its machine, for simulation: the
// PLL hands its reference on, as one clock is as good as another here; so is the phase of its second
// output, since no time passes on the wires.

module EHXPLLL (
    input CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG,
    input PLLWAKESYNC, ENCLKOP, ENCLKOS,
    output CLKOP, CLKOS, LOCK
);
  parameter FEEDBK_PATH = "CLKOP", CLKI_DIV = 1, CLKFB_DIV = 1, CLKOP_DIV = 1;
  parameter CLKOP_ENABLE = "ENABLED", CLKOP_CPHASE = 0, CLKOP_FPHASE = 0;
  parameter CLKOS_DIV = 1, CLKOS_ENABLE = "DISABLED", CLKOS_CPHASE = 0, CLKOS_FPHASE = 0;
  parameter OUTDIVIDER_MUXA = "DIVA", OUTDIVIDER_MUXB = "DIVB", PLLRST_ENA = "DISABLED";
  parameter INTFB_WAKE = "DISABLED", STDBY_ENABLE = "DISABLED", DPHASE_SOURCE = "DISABLED";
  assign CLKOP = CLKI;
  assign CLKOS = CLKI;
  assign LOCK = 1'b1;
endmodule

// Registers of a pad for output and input.
module OFS1P3DX (input D, SP, SCLK, CD, output reg Q);
  initial Q = 1'b0;
  always @(posedge SCLK) if (CD) Q <= 1'b0; else if (SP) Q <= D;
endmodule

module IFS1P3DX (input D, SP, SCLK, CD, output reg Q);
  initial Q = 1'b0;
  always @(posedge SCLK) if (CD) Q <= 1'b0; else if (SP) Q <= D;
endmodule

// Two values a cycle. Here they are constant, so it does not matter that those of the real cell
// come some cycles later.
module ODDRX1F (input D0, D1, SCLK, RST, output Q);
  assign Q = SCLK ? D0 : D1;
endmodule

// A pad for both ways.
module BB (input I, T, output O, inout B);
  assign B = T ? 1'bz : I;
  assign O = B;
endmodule
