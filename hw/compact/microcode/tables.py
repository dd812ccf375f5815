"""TABLE: pairs out of vector memory, each half to a word of its own, with its sign."""
from systolith.hw.compact.microcode.fields import field
from systolith.hw.config import TABLE_SEGMENTS
from systolith.hw.isa import Table

_TABLE = """
name pairs_left rows
put_half:                   # A with its sign to q
    {extend}
    wrw q
    ld q
    add =4
    st q
    ret
table:
    {table}
    sub =TABLES
    jpos illegal
    {source_base}
    add ={segments}
    sub =VEC_DEPTH
    sub =1
    jpos outside
    {source_base}
    setm =0
    setn =2
    shl
    add =VEC
    st p
    {table}
    setm =0
    setn =TABLE_SHIFT
    shl
    add =FUNCTION_TABLES
    st q
    ld ={segments}
    st pairs_left
table_pair:
    rd p
    st pair
    ld p
    add =4
    st p
    ld pair.lo
    call put_half
    ld pair.hi
    call put_half
    ld pairs_left
    sub =1
    st pairs_left
    jz retire
    jquiet table_pair
    call host
    jump table_pair
"""

#: A = the half in A with its sign.
EXTEND = "add =0x8000\nand =0xffff\nsub =0x8000"


def tables() -> str:
    """The text."""
    return _TABLE.format(table=field(Table, "table"), source_base=field(Table, "source_base"),
                         segments=TABLE_SEGMENTS, extend=EXTEND)
