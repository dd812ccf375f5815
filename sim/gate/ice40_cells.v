// What the PLL of an iCE40 does in simulation: it hands its reference on, as one clock is as good as
// another here.

module SB_PLL40_PAD (
    input PACKAGEPIN, RESETB, BYPASS,
    output PLLOUTGLOBAL, LOCK
);
  parameter FEEDBACK_PATH = "SIMPLE", DIVR = 0, DIVF = 0, DIVQ = 0, FILTER_RANGE = 0;
  assign PLLOUTGLOBAL = PACKAGEPIN;
  assign LOCK = RESETB;
endmodule

module SB_PLL40_CORE (
    input REFERENCECLK, RESETB, BYPASS,
    output PLLOUTGLOBAL, LOCK
);
  parameter FEEDBACK_PATH = "SIMPLE", DIVR = 0, DIVF = 0, DIVQ = 0, FILTER_RANGE = 0;
  assign PLLOUTGLOBAL = REFERENCECLK;
  assign LOCK = RESETB;
endmodule
