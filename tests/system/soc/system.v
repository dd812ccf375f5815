module system;
  reg clk = 0, rst = 1, stb = 0;
  wire ack, err;
  wire [31:0] word;
  always #5 clk = ~clk;
  systolith part (
    .clk(clk), .rst(rst), .host__cyc(stb), .host__stb(stb), .host__we(1'b0), .host__adr(23'd0),
    .host__sel(4'd15), .host__dat_w(32'd0), .host__dat_r(word), .host__ack(ack), .host__err(err),
    .host__stall(), .memory__cyc(), .memory__stb(), .memory__we(), .memory__adr(), .memory__sel(),
    .memory__dat_w(), .memory__dat_r(32'd0), .memory__ack(1'b0), .memory__err(1'b0),
    .memory_base(32'd0), .memory_error());
  initial begin
    repeat (3) @(negedge clk);
    rst = 0;
    stb = 1;
    while (!ack) @(negedge clk);
    $display("identity %08x", word);
    $finish;
  end
endmodule
