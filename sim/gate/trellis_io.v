// A pad of an ECP5 as it is in a netlist: that of the vendor's library, for both ways.
module TRELLIS_IO (input I, T, output O, inout B);
  parameter DIR = "INPUT";
  generate
    if (DIR != "BIDIR") $error("TRELLIS_IO: only pads for both ways are made by hand");
  endgenerate
  BB pad (.I(I), .T(T), .O(O), .B(B));
endmodule
