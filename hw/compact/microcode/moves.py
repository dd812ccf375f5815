"""LOAD and STORE: a word at a time. SEND and NOTIFY have no mesh to go to."""
from systolith.hw.compact.microcode.fields import field
from systolith.hw.config import Region
from systolith.hw.isa import Load

#: The regions that can be moved, and of these, those that can only be stored.
MOVABLE = (Region.ACT, Region.WGT, Region.VEC, Region.CONST, Region.ACC)

_MOVE = """
zero:
    ld =ZERO_LOOP
    jump fault
illegal:
    ld =ILLEGAL
    jump fault
outside:
    ld =ADDRESS
    jump fault

span:                       # A = factor * times, 16 bits; 2**30 or more gives 2**30
    ld times
    jz span_zero
    ld factor
    jz span_zero
    jneg span_large
    setm times
    ld =0
    setn =16
    mul factor
    st upper
    sub =0x4000
    jpos span_large
    ld upper
    setn =16
    shl
    st product
    ret
span_zero:
    ld =0
    st product
    ret
span_large:
    ld =0x40000000
    st product
    ret

move:
    ld w0
    and =15
    sub =OP_NOTIFY
    jz illegal
    {rows}
    jz zero
    st rows
    {row_bytes}
    jz zero
    st row_bytes
    ld w0
    and =15
    sub =OP_SEND
    jz illegal
    {region}
    {regions}
    jump illegal
move_load_only:             # A: base; ACC cannot be loaded
    st base
    ld w0
    and =15
    sub =OP_LOAD
    jz illegal
    jump move_known
move_any:
    st base
move_known:
    {base}
    st core
    {stride}
    st core_stride
    or core
    or row_bytes
    or w3
    or w4
    and =3
    jnz illegal
    ld rows
    sub =1
    st times
    ld w4
    st factor
    call span
    ld product
    add row_bytes
    st reach
    ld w3
    sub =EXTERNAL_BYTES
    jc outside
    ld w3
    add reach
    sub =EXTERNAL_BYTES
    sub =1
    jpos outside
    ld core_stride
    st factor
    call span
    ld product
    add row_bytes
    add core
    sub size
    sub =1
    jpos outside
    ld base
    add core
    st core
    ld w3
    add =EXTERNAL
    st outer
move_row:
    ld outer
    st p
    ld core
    st q
    ld row_bytes
    st left
    ld w0
    and =15
    sub =OP_LOAD
    jz move_word
    ld core
    st p
    ld outer
    st q
move_word:
    rd p
    wrw q
    ld p
    add =4
    st p
    ld q
    add =4
    st q
    ld left
    sub =4
    st left
    jz move_next
    jquiet move_word
    call host
    jump move_word
move_next:
    rd =REG_MOVE_BYTES
    add row_bytes
    wrw =REG_MOVE_BYTES
    ld outer
    add w4
    st outer
    ld core
    add core_stride
    st core
    ld rows
    sub =1
    st rows
    jnz move_row
    jump retire
"""

_REGION = """
    sub ={step}
    jnz move_not_{name}
    ld ={name}_BYTES
    st size
    ld ={name}
    jump {target}
move_not_{name}:
"""


def moves() -> str:
    """The text."""
    regions, before = "", 0
    for region in MOVABLE:
        target = "move_load_only" if region == Region.ACC else "move_any"
        regions += _REGION.format(step=region - before, name=region.name, target=target)
        # A is then the number less that of the region.
        before = int(region)
    return _MOVE.format(regions=regions, **{
        name: field(Load, name) for name in ("rows", "row_bytes", "region", "base", "stride")})
