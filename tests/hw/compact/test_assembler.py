"""The assembler: what a line becomes, and lines that are none."""
import pytest

from systolith.hw.compact.assembler import AssemblyError, assemble
from systolith.hw.compact.instructions import (
    CODE_BITS,
    REGISTERS,
    SOURCES,
    Condition,
    Op,
    Source,
    View,
)

NAMES = {"SIZE": 96, "PLACE": 3}


def test_lines_become_words():
    result = assemble("""
        start: ld x          # the first register that is named
            add =SIZE
            st x
        loop: ld x.hi
            and host_data.lo
            out PLACE
            shl
            jnz loop
            ld =&loop
    """, NAMES)
    assert result.code == (
        Op.LD << 10 | 0, Op.ADD << 10 | 1, Op.ST << 10 | 0, Op.LD << 10 | View.HIGH << 8 | 0,
        Op.AND << 10 | View.LOW << 8 | Source.HOST_DATA, Op.OUT << 10 | 3, Op.SHL << 10,
        1 << 15 | Condition.NONZERO << 11 | 3, Op.LD << 10 | 2)
    assert result.constants == (0, 96, 3, *(0,) * (REGISTERS - 3))
    assert result.labels == {"start": 0, "loop": 3}


def test_equal_constants_are_one_register_and_negative_ones_wrap():
    result = assemble("ld =-1\nadd =-1\nsub =0x10", {})
    assert [word & 0xFF for word in result.code] == [0, 0, 1]
    assert result.constants[:2] == (0xFFFFFFFF, 16)


@pytest.mark.parametrize(("text", "message"), [
    ("frob x", "line 1: cannot assemble 'frob x'"), ("\nld", "line 2: cannot assemble 'ld'"),
    ("jump nowhere", "'nowhere'"), ("ack x", "line 1: cannot assemble 'ack x'"),
    ("ld x.un", "'un'"), ("out MISSING", "MISSING"),
    ("a: ack\na: ack", "line 2: label a is there twice"),
    ("ack\n" * ((1 << CODE_BITS) + 1), "2049 instructions, but 2048 fit"),
    ("\n".join(f"ld r{number}" for number in range(SOURCES + 1)),
     "241 registers, but there are 240"),
])
def test_what_is_no_program(text, message):
    with pytest.raises(AssemblyError, match=message):
        assemble(text, NAMES)


def test_a_register_may_have_two_names():
    assert assemble("name here there\nld there\nld here\nld other", {}).code == (
        Op.LD << 10, Op.LD << 10, Op.LD << 10 | 1)
    with pytest.raises(AssemblyError, match="line 2: register x is there already"):
        assemble("name x y\nname x z", {})
