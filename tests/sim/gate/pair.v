// A source and its netlist side by side, fed with the same pseudo-random bits. The first cycles
// are not compared: registers of blocks hold anything until they are first loaded.
module pair (input clock, output reg [63:0] differs);
  reg [127:0] random = 128'h9e3779b97f4a7c15f39cc0605cedc834;
  reg [9:0] cycle = 0;
  // Galois form, x^128 + x^126 + x^101 + x^99 + 1, several steps a cycle.
  function [127:0] step(input [127:0] state);
    step = state >> 1 ^ (state[0] ? 128'ha0000014000000000000000000000000 : 128'd0);
  endfunction
  integer index;
  reg [127:0] following;
  always @* begin
    following = random;
    for (index = 0; index < 37; index = index + 1) following = step(following);
  end
  wire [36 * 16 - 1:0] wanted, got;
  source source (.clock(clock), .random(random), .q(wanted));
  gates gates (.clock(clock), .random(random), .q(got));
  initial differs = 0;
  genvar place;
  generate
    for (place = 0; place < 16; place = place + 1)
      always @(posedge clock)
        if (&cycle && wanted[36 * place +: 36] != got[36 * place +: 36]) differs[place] <= 1;
  endgenerate
  always @(posedge clock) begin
    random <= following;
    if (~&cycle) cycle <= cycle + 1;
  end
endmodule
