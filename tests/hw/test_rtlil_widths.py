"""Widths of operands in RTLIL."""
import pytest

from systolith.hw.rtlil_widths import Bits, equalize_widths

WIDTHS = {"\\a": 4, "\\b": 1}


@pytest.mark.parametrize(("text", "width", "back"), [
    ("\\a", 4, "\\a [3:0]"), ("\\b", 1, "\\b [0:0]"), ("\\a [2:1]", 2, "\\a [2:1]"),
    ("\\a [2]", 1, "\\a [2:2]"), ("3'101", 3, "3'101"), ("4'x", 4, "4'xxxx"), ("4'1", 4, "4'0001"),
    ("5", 32, "32'" + f"{5:032b}"), ("-1", 32, "32'" + "1" * 32),
    ("{ \\a [1:0] 2'10 \\b }", 5, "{ \\a [1:0] 2'10 \\b [0:0] }"),
])
def test_parse(text, width, back):
    bits = Bits.parse(text, WIDTHS)
    assert (len(bits), str(bits)) == (width, back)


@pytest.mark.parametrize(("low", "width", "expected"), [
    (0, 4, "{ 2'01 \\b [0:0] \\a [3:3] }"), (1, 3, "{ 2'01 \\b [0:0] }"), (3, 1, "1'0"),
    (0, 1, "\\a [3:3]"),
])
def test_part(low, width, expected):
    assert str(Bits.parse("{ 2'01 \\b \\a [3] }", WIDTHS).part(low, width)) == expected


@pytest.mark.parametrize(("text", "width", "signed", "expected"), [
    ("\\a", 6, False, "{ 2'00 \\a [3:0] }"),
    ("\\a", 6, True, "{ \\a [3:3] \\a [3:3] \\a [3:0] }"),
    ("2'10", 4, True, "{ 2'11 2'10 }"), ("\\a", 2, True, "\\a [1:0]"),
])
def test_resized(text, width, signed, expected):
    assert str(Bits.parse(text, WIDTHS).resized(width, signed)) == expected


def module(cell, parameters, connections):
    lines = ["module \\m", "  wire width 4 \\a", "  wire \\b", "  wire width 2 \\s",
             "  wire width 2 \\y", f"  cell {cell} $1",
             *(f"    parameter \\{name} {value}" for name, value in parameters.items()),
             *(f"    connect \\{name} {value}" for name, value in connections.items()),
             "  end", "end"]
    return "\n".join(lines) + "\n"


def test_an_operand_is_extended():
    text = module("$eq", {"A_SIGNED": 0, "A_WIDTH": 4, "B_SIGNED": 0, "B_WIDTH": 1, "Y_WIDTH": 1},
                  {"A": "\\a", "B": "\\b", "Y": "\\y [0]"})
    result = equalize_widths(text)
    assert "connect \\B { 3'000 \\b [0:0] }" in result
    assert "parameter \\B_WIDTH 4" in result


def test_the_first_selector_of_a_chain_decides():
    text = module("$pmux", {"S_WIDTH": 2, "WIDTH": 2},
                  {"A": "2'00", "B": "\\a", "S": "\\s", "Y": "\\y"})
    result = equalize_widths(text).split("  cell ")
    assert len(result) == 3
    assert "connect \\B \\a [3:2]" in result[1]
    assert "connect \\S \\s [1:1]" in result[1]
    assert "connect \\B \\a [1:0]" in result[2]
    assert "connect \\Y \\y [1:0]" in result[2]


def test_a_shift_by_a_negative_amount_is_rejected():
    text = module("$shift", {"A_SIGNED": 0, "A_WIDTH": 4, "B_SIGNED": 1, "B_WIDTH": 2,
                             "Y_WIDTH": 2}, {"A": "\\a", "B": "\\s", "Y": "\\y"})
    with pytest.raises(ValueError, match=r"^\$1 shifts by an amount that may be negative$"):
        equalize_widths(text)


def test_other_cells_stay():
    text = module("$and_not_known", {"WIDTH": 2}, {"A": "\\s", "Y": "\\y"})
    assert equalize_widths(text) == text
