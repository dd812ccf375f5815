// A block of an ECP5 in each mode that netlists use. Its name in the netlist is that of the
// instance; 36 bits of `q` belong to it.
module source (input clock, input [127:0] random, output [36 * 16 - 1:0] q);
  assign q[36 * 15 +: 36] = 0;

  // One port writes, the other reads: by the width that Yosys chooses for the depth.
  ram #(.ADDRESS(9), .WIDTH(36), .BYTE(9)) rows (clock, random, q[36 * 0 +: 36]);
  ram #(.ADDRESS(10), .WIDTH(18), .BYTE(9)) halves (clock, random, q[36 * 1 +: 36]);
  ram #(.ADDRESS(11), .WIDTH(9), .BYTE(9)) nines (clock, random, q[36 * 2 +: 36]);
  ram #(.ADDRESS(12), .WIDTH(4), .BYTE(4)) fours (clock, random, q[36 * 3 +: 36]);
  ram #(.ADDRESS(13), .WIDTH(2), .BYTE(2)) twos (clock, random, q[36 * 4 +: 36]);
  ram #(.ADDRESS(14), .WIDTH(1), .BYTE(1)) ones (clock, random, q[36 * 5 +: 36]);
  // With the register behind it.
  ram #(.ADDRESS(9), .WIDTH(36), .BYTE(9), .LATE(1)) late_rows (clock, random, q[36 * 6 +: 36]);
  ram #(.ADDRESS(10), .WIDTH(18), .BYTE(9), .LATE(1)) late_halves (
    clock, random, q[36 * 7 +: 36]);
  ram #(.ADDRESS(11), .WIDTH(9), .BYTE(9), .LATE(1)) late_nines (clock, random, q[36 * 8 +: 36]);
  // Content from the start.
  ram #(.ADDRESS(9), .WIDTH(36), .BYTE(36), .CONTENT(1)) content (clock, random, q[36 * 9 +: 36]);
  // In tables of logic, read at once.
  shallow shallow (clock, random, q[36 * 10 +: 36]);

  product #(.REGISTERS(0)) bare (clock, random, q[36 * 11 +: 36]);
  product #(.REGISTERS(1)) registered (clock, random, q[36 * 12 +: 36]);
  product #(.REGISTERS(1), .CONTROLLED(1)) controlled (clock, random, q[36 * 13 +: 36]);
  product #(.REGISTERS(1), .SIGNED(0)) positive (clock, random, q[36 * 14 +: 36]);
endmodule

// Never reads a word that is written.
module ram #(parameter ADDRESS = 9, WIDTH = 36, BYTE = 9, LATE = 0, CONTENT = 0) (
  input clock, input [127:0] random, output [35:0] q);
  (* ram_style = "block" *) reg [WIDTH - 1:0] words [0:(1 << ADDRESS) - 1];
  wire [ADDRESS - 1:0] read = random, write = random[31:16];
  wire [WIDTH / BYTE - 1:0] mask = random[35:32];
  wire [WIDTH - 1:0] data = random[127:64];
  integer index;
  initial
    if (CONTENT)
      for (index = 0; index < 1 << ADDRESS; index = index + 1)
        words[index] = index * 36'h9e3779b97;
  genvar place;
  generate
    if (!CONTENT)
      for (place = 0; place < WIDTH / BYTE; place = place + 1)
        always @(posedge clock)
          if (mask[place] && read != write)
            words[write][BYTE * place +: BYTE] <= data[BYTE * place +: BYTE];
  endgenerate
  reg [WIDTH - 1:0] first, second;
  always @(posedge clock) if (random[36]) first <= words[read];
  always @(posedge clock) second <= first;
  assign q = LATE ? second : first;
endmodule

module shallow (input clock, input [127:0] random, output [35:0] q);
  (* ram_style = "distributed" *) reg [7:0] words [0:15];
  always @(posedge clock) if (random[8]) words[random[3:0]] <= random[31:24];
  assign q = words[random[7:4]];
endmodule

module product #(parameter REGISTERS = 0, CONTROLLED = 0, SIGNED = 1) (
  input clock, input [127:0] random, output [35:0] q);
  wire [17:0] a = random[17:0], b = random[40:23];
  reg [17:0] held_a, held_b;
  reg [35:0] result;
  wire [17:0] first = REGISTERS ? held_a : a, second = REGISTERS ? held_b : b;
  wire [35:0] multiplied;
  generate
    if (SIGNED) assign multiplied = $signed(first) * $signed(second);
    else assign multiplied = first * second;
  endgenerate
  always @(posedge clock) begin
    held_a <= a;
    if (!CONTROLLED || random[60]) held_b <= b;
    if (!CONTROLLED || random[61]) result <= multiplied;
    if (CONTROLLED && random[62]) held_a <= 0;
  end
  assign q = REGISTERS ? result : multiplied;
endmodule
