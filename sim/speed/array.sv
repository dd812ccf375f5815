// A 16 x 16 weight-stationary INT8 array with a weight bank along each row, written by hand, to
// compare the simulation speed of the generated one with. Same ports, same cycles, same sums as
// `systolith.sim.speed.array.ArrayWithWeights`.
//
// Row r works r cycles after row 0. A beat's activations come at once; its tile is read bank by bank,
// row r of it r cycles after row 0. Its sums come out together, ROWS + 3 cycles later.

module bank #(parameter int WIDTH = 128, parameter int DEPTH = 4096) (
    input  logic                     clk,
    input  logic                     read,
    input  logic [$clog2(DEPTH)-1:0] read_address,
    output logic [WIDTH-1:0]         read_data,
    input  logic                     write,
    input  logic [$clog2(DEPTH)-1:0] write_address,
    input  logic [WIDTH-1:0]         write_data
);
    logic [WIDTH-1:0] words[DEPTH];

    always_ff @(posedge clk) begin
        if (write) words[write_address] <= write_data;
        if (read) read_data <= words[read_address];
    end
endmodule

module row #(parameter int COLS = 16, parameter int SUM = 21) (
    input  logic                                 clk,
    input  logic signed [8:0]                    activation,
    input  logic                                 load,
    input  logic        [COLS-1:0][7:0]          weights,
    input  logic signed [COLS-1:0][SUM-1:0]      above,
    output logic signed [COLS-1:0][SUM-1:0]      below
);
    logic signed [8:0]             operand;
    logic signed [COLS-1:0][7:0]   weight;
    logic signed [COLS-1:0][15:0]  product;

    always_ff @(posedge clk) begin
        operand <= activation;
        if (load) weight <= weights;
        for (int c = 0; c < COLS; c++) begin
            product[c] <= operand * $signed(weight[c]);
            below[c] <= $signed(above[c]) + $signed(product[c]);
        end
    end
endmodule

module bench #(parameter int ROWS = 16, parameter int COLS = 16, parameter int DEPTH = 4096,
               parameter int SUM = 21) (
    input  logic                     clk,
    input  logic                     rst,
    input  logic [ROWS-1:0][7:0]     activations,
    input  logic                     left_unsigned,
    input  logic                     load,
    input  logic [$clog2(DEPTH)-1:0] address,
    input  logic [ROWS-1:0]          write_banks,
    input  logic [$clog2(DEPTH)-1:0] write_address,
    input  logic [COLS-1:0][7:0]     write_data,
    output logic [COLS-1:0][SUM-1:0] sums
);
    // Index r: as row r sees it, r cycles after row 0.
    logic                     reads[ROWS];
    logic                     loads[ROWS];
    logic                     unsigneds[ROWS];
    logic [$clog2(DEPTH)-1:0] addresses[ROWS];
    logic signed [COLS-1:0][SUM-1:0] chain[ROWS+1];

    assign reads[0] = load;
    assign addresses[0] = address;
    assign chain[0] = '0;
    assign sums = chain[ROWS];

    // Memories answer one cycle after the beat.
    logic [ROWS-1:0][7:0] arrived;
    always_ff @(posedge clk) begin
        arrived <= activations;
        loads[0] <= load;
        unsigneds[0] <= left_unsigned;
        for (int r = 1; r < ROWS; r++) begin
            reads[r] <= rst ? 1'b0 : reads[r-1];
            addresses[r] <= addresses[r-1];
            loads[r] <= loads[r-1];
            unsigneds[r] <= unsigneds[r-1];
        end
    end

    for (genvar r = 0; r < ROWS; r++) begin : g_row
        logic [COLS-1:0][7:0] weights;
        logic [7:0] skewed;

        if (r == 0) assign skewed = arrived[0];
        else begin : g_skew
            logic [r-1:0][7:0] skew;
            always_ff @(posedge clk) skew <= (8*r)'({skew, arrived[r]});
            assign skewed = skew[r-1];
        end

        bank #(.WIDTH(8 * COLS), .DEPTH(DEPTH)) weight_bank (
            .clk, .read(reads[r]), .read_address(addresses[r]), .read_data(weights),
            .write(write_banks[r]), .write_address, .write_data);
        row #(.COLS(COLS), .SUM(SUM)) cells (
            .clk, .activation({skewed[7] & ~unsigneds[r], skewed}), .load(loads[r]), .weights,
            .above(chain[r]), .below(chain[r+1]));
    end
endmodule
