// A block of an iCE40 in each mode that netlists use. Its name in the netlist is that of the
// instance; 36 bits of `q` belong to it.
module source (input clock, input [127:0] random, output [36 * 16 - 1:0] q);
  assign q[36 * 7 +: 324] = 0;

  ram #(.ADDRESS(8), .WIDTH(16), .BYTE(8)) rows (clock, random, q[36 * 0 +: 36]);
  ram #(.ADDRESS(9), .WIDTH(8), .BYTE(8)) bytes (clock, random, q[36 * 1 +: 36]);
  ram #(.ADDRESS(10), .WIDTH(4), .BYTE(4)) fours (clock, random, q[36 * 2 +: 36]);
  ram #(.ADDRESS(11), .WIDTH(2), .BYTE(2)) twos (clock, random, q[36 * 3 +: 36]);
  ram #(.ADDRESS(11), .WIDTH(2), .CONTENT(1)) content (clock, random, q[36 * 6 +: 36]);
  huge huge (clock, random, q[36 * 4 +: 36]);
  products products (clock, random, q[36 * 5 +: 36]);
endmodule

// Never reads a word that is written.
module ram #(parameter ADDRESS = 8, WIDTH = 16, BYTE = 8, CONTENT = 0) (
  input clock, input [127:0] random, output [35:0] q);
  (* ram_style = "block" *) reg [WIDTH - 1:0] words [0:(1 << ADDRESS) - 1];
  wire [ADDRESS - 1:0] read = random, write = random[31:16];
  wire [WIDTH / BYTE - 1:0] mask = random[35:32];
  wire [WIDTH - 1:0] data = random[127:64];
  integer index;
  initial
    if (CONTENT)
      for (index = 0; index < 1 << ADDRESS; index = index + 1)
        words[index] = (index * 32'h9e3779b9) >> 24;
  genvar place;
  generate
    if (!CONTENT)
      for (place = 0; place < WIDTH / BYTE; place = place + 1)
        always @(posedge clock)
          if (mask[place] && read != write)
            words[write][BYTE * place +: BYTE] <= data[BYTE * place +: BYTE];
  endgenerate
  reg [WIDTH - 1:0] first;
  always @(posedge clock) if (random[36]) first <= words[read];
  assign q = first;
endmodule

// The large RAM has one port, and gives nothing that counts after a write.
module huge (input clock, input [127:0] random, output [35:0] q);
  wire write = random[20], quiet = random[21];
  wire [3:0] mask = random[19:16];
  wire [15:0] data = random[79:64], read;
  // Few addresses, so that what is read was written.
  wire [13:0] address = {random[2], 8'd0, random[7:3]};
  reg valid = 0;
  always @(posedge clock) if (!quiet) valid <= !write;
  assign q = valid ? read : 0;
`ifdef SYNTHESIS
  SB_SPRAM256KA part (.ADDRESS(address), .DATAIN(data), .MASKWREN(mask), .WREN(write),
    .CHIPSELECT(!quiet), .CLOCK(clock), .STANDBY(1'b0), .SLEEP(1'b0), .POWEROFF(1'b1),
    .DATAOUT(read));
`else
  reg [15:0] words [0:16383];
  reg [15:0] first;
  integer place;
  assign read = first;
  always @(posedge clock)
    if (!quiet)
      if (write) begin
        for (place = 0; place < 4; place = place + 1)
          if (mask[place]) words[address][4 * place +: 4] <= data[4 * place +: 4];
      end else first <= words[address];
`endif
endmodule

// Two products of bytes; the second operands are held.
module products (input clock, input [127:0] random, output [35:0] q);
  wire hold = random[40];
  wire [15:0] a = random[15:0], b = random[31:16];
  wire [31:0] result;
  assign q = result;
`ifdef SYNTHESIS
  SB_MAC16 #(.A_REG(1'b1), .B_REG(1'b1), .TOP_8x8_MULT_REG(1'b1), .BOT_8x8_MULT_REG(1'b1),
    .TOPOUTPUT_SELECT(2'd2), .BOTOUTPUT_SELECT(2'd2), .MODE_8x8(1'b1), .A_SIGNED(1'b1),
    .B_SIGNED(1'b1)) part (
    .CLK(clock), .CE(1'b1), .A(a), .B(b), .BHOLD(hold), .O(result), .C(16'd0), .D(16'd0),
    .AHOLD(1'b0), .CHOLD(1'b0), .DHOLD(1'b0), .IRSTTOP(1'b0), .IRSTBOT(1'b0), .ORSTTOP(1'b0),
    .ORSTBOT(1'b0), .OLOADTOP(1'b0), .OLOADBOT(1'b0), .ADDSUBTOP(1'b0), .ADDSUBBOT(1'b0),
    .OHOLDTOP(1'b0), .OHOLDBOT(1'b0), .CI(1'b0), .ACCUMCI(1'b0), .SIGNEXTIN(1'b0));
`else
  reg [15:0] first, second;
  reg signed [15:0] high, low;
  always @(posedge clock) begin
    first <= a;
    if (!hold) second <= b;
    high <= $signed(first[15:8]) * $signed(second[15:8]);
    low <= $signed(first[7:0]) * $signed(second[7:0]);
  end
  assign result = {high, low};
`endif
endmodule
