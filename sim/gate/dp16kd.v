// Block RAM of an ECP5, 18 kbit with two ports, after Lattice's technical note 1264.
//
// It has 512 rows of 36 bits. A port of 36 bits has a row: A writes it, B reads it, and each takes
// the data pins of both sides. A narrower port has one of several words of a row; address bits
// that do not select a word are enables of bytes of 9 bits.
//
// Where the part promises nothing, this promises the worst: a bit that is read while the other port
// writes it comes out inverted, and registers hold a pattern until they are first loaded.

module DP16KD (
  input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4,
      DIA3, DIA2, DIA1, DIA0, ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3,
      ADA2, ADA1, ADA0, CSA2, CSA1, CSA0, CEA, OCEA, CLKA, WEA, RSTA, DIB17, DIB16, DIB15, DIB14,
      DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0, ADB13,
      ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0, CSB2, CSB1,
      CSB0, CEB, OCEB, CLKB, WEB, RSTB,
  output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4,
      DOA3, DOA2, DOA1, DOA0, DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8,
      DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0
);
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18;
  parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG";
  parameter WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  parameter RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC", GSR = "ENABLED";
  parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000";
  parameter CLKAMUX = "CLKA", CLKBMUX = "CLKB";
  parameter [319:0]
    INITVAL_00 = 0, INITVAL_01 = 0, INITVAL_02 = 0, INITVAL_03 = 0, INITVAL_04 = 0,
    INITVAL_05 = 0, INITVAL_06 = 0, INITVAL_07 = 0, INITVAL_08 = 0, INITVAL_09 = 0,
    INITVAL_0A = 0, INITVAL_0B = 0, INITVAL_0C = 0, INITVAL_0D = 0, INITVAL_0E = 0,
    INITVAL_0F = 0, INITVAL_10 = 0, INITVAL_11 = 0, INITVAL_12 = 0, INITVAL_13 = 0,
    INITVAL_14 = 0, INITVAL_15 = 0, INITVAL_16 = 0, INITVAL_17 = 0, INITVAL_18 = 0,
    INITVAL_19 = 0, INITVAL_1A = 0, INITVAL_1B = 0, INITVAL_1C = 0, INITVAL_1D = 0,
    INITVAL_1E = 0, INITVAL_1F = 0, INITVAL_20 = 0, INITVAL_21 = 0, INITVAL_22 = 0,
    INITVAL_23 = 0, INITVAL_24 = 0, INITVAL_25 = 0, INITVAL_26 = 0, INITVAL_27 = 0,
    INITVAL_28 = 0, INITVAL_29 = 0, INITVAL_2A = 0, INITVAL_2B = 0, INITVAL_2C = 0,
    INITVAL_2D = 0, INITVAL_2E = 0, INITVAL_2F = 0, INITVAL_30 = 0, INITVAL_31 = 0,
    INITVAL_32 = 0, INITVAL_33 = 0, INITVAL_34 = 0, INITVAL_35 = 0, INITVAL_36 = 0,
    INITVAL_37 = 0, INITVAL_38 = 0, INITVAL_39 = 0, INITVAL_3A = 0, INITVAL_3B = 0,
    INITVAL_3C = 0, INITVAL_3D = 0, INITVAL_3E = 0, INITVAL_3F = 0;

  wire [17:0] dia = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6,
      DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
  wire [13:0] ada = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2,
      ADA1, ADA0};
  wire [17:0] dib = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6,
      DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
  wire [13:0] adb = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2,
      ADB1, ADB0};
  wire [5:0] cs = {CSA2, CSA1, CSA0, CSB2, CSB1, CSB0};

  generate
    if (CSDECODE_A != "0b000" || CSDECODE_B != "0b000" || CLKAMUX != "CLKA" || CLKBMUX != "CLKB")
      $error("DP16KD: a decoder of selections or an inverted clock, which this model lacks");
    if ((DATA_WIDTH_A == 36) != (DATA_WIDTH_B == 36))
      $error("DP16KD: one port alone of 36 bits, which this model lacks");
  endgenerate

  reg [35:0] rows [0:511];
  integer i;
  // A parameter has 16 words of 18 bits, each followed by two bits that mean nothing.
  wire [64 * 320 - 1:0] start = {
    INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38,
        INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31,
        INITVAL_30, INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B, INITVAL_2A,
        INITVAL_29, INITVAL_28, INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23,
        INITVAL_22, INITVAL_21, INITVAL_20, INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C,
        INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18, INITVAL_17, INITVAL_16, INITVAL_15,
        INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10, INITVAL_0F, INITVAL_0E,
        INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08, INITVAL_07,
        INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00};
  initial
    for (i = 0; i < 512; i = i + 1) rows[i] = {start[40 * i + 20 +: 18], start[40 * i +: 18]};

  wire [35:0] write_mask_a, write_data_a, read_a, write_mask_b, write_data_b, read_b;
  DP16KD_PORT #(.WIDTH(DATA_WIDTH_A), .WRITEMODE(WRITEMODE_A), .REGMODE(REGMODE_A),
                .RESETMODE(RESETMODE)) a (
    .clk(CLKA), .enable(CEA & (cs[5:3] == 0)), .write(WEA), .reset(RSTA), .register_enable(OCEA),
    .address(ada), .data({dib, dia}), .row(rows[ada[13:5]]),
    .disturbed(ada[13:5] == adb[13:5] ? write_mask_b : 36'd0),
    .mask(write_mask_a), .written(write_data_a), .read(read_a));
  DP16KD_PORT #(.WIDTH(DATA_WIDTH_B), .WRITEMODE(WRITEMODE_B), .REGMODE(REGMODE_B),
                .RESETMODE(RESETMODE)) b (
    .clk(CLKB), .enable(CEB & (cs[2:0] == 0)), .write(WEB), .reset(RSTB), .register_enable(OCEB),
    .address(adb), .data({18'd0, dib}), .row(rows[adb[13:5]]),
    .disturbed(ada[13:5] == adb[13:5] ? write_mask_a : 36'd0),
    .mask(write_mask_b), .written(write_data_b), .read(read_b));

  always @(posedge CLKA)
    if (|write_mask_a) rows[ada[13:5]] <= rows[ada[13:5]] & ~write_mask_a | write_data_a;
  always @(posedge CLKB)
    if (|write_mask_b) rows[adb[13:5]] <= rows[adb[13:5]] & ~write_mask_b | write_data_b;

  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5,
      DOA4, DOA3, DOA2, DOA1, DOA0} = DATA_WIDTH_B == 36 ? read_b[17:0] : read_a[17:0];
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5,
      DOB4, DOB3, DOB2, DOB1, DOB0} = DATA_WIDTH_B == 36 ? read_b[35:18] : read_b[17:0];
endmodule

// One port: where its word is in a row, what a write does to the row, and what it reads.
module DP16KD_PORT (
  input clk, enable, write, reset, register_enable,
  input [13:0] address,
  input [35:0] data,
  input [35:0] row, disturbed,
  output [35:0] mask, written, read
);
  parameter WIDTH = 18, WRITEMODE = "NORMAL", REGMODE = "NOREG", RESETMODE = "SYNC";
  generate
    if (WIDTH != 36 && WIDTH != 18 && WIDTH != 9 && WIDTH != 4 && WIDTH != 2 && WIDTH != 1)
      $error("DP16KD: a width that it does not have");
    if (WRITEMODE != "NORMAL" && WRITEMODE != "WRITETHROUGH" && WRITEMODE != "READBEFOREWRITE")
      $error("DP16KD: unknown mode of writing");
    if (REGMODE != "NOREG" && REGMODE != "OUTREG") $error("DP16KD: unknown mode of the register");
  endgenerate

  wire [5:0] place = (WIDTH <= 18 ? 6'd18 * address[4] : 6'd0)
                   + (WIDTH <= 9 ? 6'd9 * address[3] : 6'd0)
                   + (WIDTH == 4 ? 6'd4 * address[2] : 6'd0)
                   + (WIDTH == 2 ? 6'd2 * address[2:1] : 6'd0)
                   + (WIDTH == 1 ? 6'd1 * address[2:0] : 6'd0);
  wire [35:0] bytes = {{9{address[3]}}, {9{address[2]}}, {9{address[1]}}, {9{address[0]}}};
  wire [35:0] word = (36'd1 << WIDTH) - 36'd1;
  assign mask = enable & write ? (WIDTH >= 18 ? word & bytes : word) << place : 36'd0;
  assign written = data << place & mask;

  wire [35:0] after = WRITEMODE == "WRITETHROUGH" ? row & ~mask | written : row;
  wire keep = write & WRITEMODE == "NORMAL";
  wire clear = reset & RESETMODE == "ASYNC";
  reg [35:0] first, second;
  initial {first, second} = {2{36'h5a5a5a5a5}};
  always @(posedge clk, posedge clear)
    if (clear) first <= 0;
    else if (reset) first <= 0;
    else if (enable & ~keep) first <= (after ^ disturbed) >> place & word;
  always @(posedge clk, posedge clear)
    if (clear) second <= 0;
    else if (reset) second <= 0;
    else if (register_enable) second <= first;
  assign read = REGMODE == "OUTREG" ? second : first;
endmodule
