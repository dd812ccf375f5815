"""PASS: its fields and their checks, then rows of beats of two elements."""
from systolith.hw.compact.microcode.fields import field, half
from systolith.hw.compact.microcode.sinks import sinks
from systolith.hw.compact.microcode.tables import EXTEND
from systolith.hw.isa import (
    SHIFT_BITS,
    Addend,
    Combine,
    Function,
    Pass,
    Reduce,
    Scalar,
    Scale,
    Sink,
)

#: The fields of word 0 from the top, with their bits; a field with ways chooses one of them.
_FIELDS = ("causal", "sink", "output", "narrow", "scalar", "reduce", "combine", "table", "function",
           "row_scale", "scale", "addend", "source")
_WAYS = {"addend": Addend, "scale": Scale, "function": Function, "combine": Combine,
         "reduce": Reduce, "scalar": Scalar, "sink": Sink}

#: Fields that are asked for only there.
_ONCE = ("scalar", "function")

_START = """
take:                       # A = the uppermost N bits of M
    ld =0
    shl
    ret
bytes:                      # A words of 2**wide bytes
    setm =0
    setn wide
    shl
    ret
vector:
    ld w0
    and =15
    sub =OP_TABLE
    jz table
    ld {rows}
    jz zero
    sub =1
    st rows_less
    ld {beats}
    jz zero
    sub =1
    st beats_less
    setm w0.hi
    {fields}
    ld output
    jz output_int8
    sub =1
    jz output_uint8
    sub =1
    jnz illegal
    ld =-32768
    st low
    ld =32767
    jump output_known
output_int8:
    ld =-128
    st low
    ld =127
    jump output_known
output_uint8:
    ld =0
    st low
    ld =255
output_known:
    st high
    ld table
    sub =TABLES
    jpos illegal
    ld =2
    st wide
    ld =0
    st pair_row
    ld combine
    sub =1
    jz streamed
    sub =1
    jz streamed
    sub =2
    jnz unstreamed
streamed:
    ld source
    jnz illegal
    ld {stream_base}
    setm rows_less
    setn =16
    mul {stream_row_stride}
    jnz outside
    ld fraction
    add beats_less
    sub =VEC_DEPTH
    jpos outside
    ld {stream_base}
    call bytes
    add =VEC
    st pair_row
    ld {stream_row_stride}
    call bytes
    st pair_step
    ld =4
    st pair_tile
unstreamed:
    ld {source_base}
    setm rows_less
    setn =16
    mul {source_row_stride}
    jnz outside
    ld fraction
    setm beats_less
    setn =16
    mul {source_tile_stride}
    jnz outside
    ld source
    jz source_is_acc
    ld fraction
    sub =VEC_DEPTH
    jpos outside
    ld {source_base}
    call bytes
    add =VEC
    st pair_row
    ld {source_row_stride}
    call bytes
    st pair_step
    ld {source_tile_stride}
    call bytes
    st pair_tile
    jump source_known
source_is_acc:
    ld fraction
    sub =ACC_DEPTH
    jpos outside
    ld =3
    st wide
    ld {source_base}
    call bytes
    add =ACC
    st source_row
    ld {source_row_stride}
    call bytes
    st source_step
    ld {source_tile_stride}
    call bytes
    sub =8
    st source_tile
    ld =2
    st wide
source_known:
    ld addend
    sub =1
    jz columns_used
    ld scale
    sub =2
    jnz columns_unused
columns_used:
    ld {const_base}
    add beats_less
    sub =CONST_DEPTH
    jpos outside
columns_unused:
    ld row_scale
    jz row_unscaled
    ld do_scale
    add =3
    st do_scale
    jump row_used
row_unscaled:
    ld addend
    sub =2
    jnz row_unused
row_used:
    ld {row_read}
    add rows_less
    sub =ROW_DEPTH
    jpos outside
row_unused:
    ld reduce
    jz reduce_known
    ld {row_write}
    add rows_less
    sub =ROW_DEPTH
    jpos outside
reduce_known:
    ld {row_read}
    call bytes
    add =ROW
    st row_from
    ld {row_write}
    call bytes
    add =ROW
    st row_to
    ld =TABLE_SHIFT
    st wide
    ld table
    call bytes
    add =FUNCTION_TABLES
    st function_table
    ld {position}
    add =1
    st horizon
"""

#: The field, less the number of its ways, is added to the end of the jumps that lead there.
_WAY = "sub ={kinds}\njpos illegal\nadd =&{name}_ways\nst do_{name}\n"

_ROWS = """
pass_row:
    ld source_row
    st from
    ld pair_row
    st pair_from
    ld sink_row
    st to
    ld granule
    st place
    ld =4
    st wide
    ld {const_base}
    call bytes
    add =CONST
    st column
    ld beats_less
    st beats_left
    rd row_from
    st row_word
    ld {valid}
    st limit
    ld causal
    jz limit_known
    ld horizon
    cmp limit
    jlt limit_causal
    jump limit_known
limit_causal:
    st limit
limit_known:
    ld limit
    st left
    ld =0
    st best
    st best_upper
    st best_index
    ld reduce
    jz row_scale
    sub =1
    jz row_least
    sub =3
    jnz row_scale
row_least:
    ld =-0x80000000
    st best
row_scale:
    ld do_scale
    sub =&scale_ways
    add =&row_scale_ways
    go
    jump beat
    jump tensor_scale
    jump beat
row_scale_ways:             # those before are without a row's scale
    jump word_scale
    jump tensor_scale
    jump beat
word_scale:
    ld row_word.lo
    st multiplier
    ld row_word.hi
    and ={shift_mask}
    st shift
    jump beat
tensor_scale:
    ld {multiplier}
    st multiplier
    {shift}
    st shift
    ld row_scale
    jz beat
    call by_row
beat:
    jquiet beat_quiet
    call host
beat_quiet:
    rd pair_from
    st pair
    ld pair_from
    add pair_tile
    st pair_from
    ld =&beat_odd
    st then
    ld pair.lo
    {extend}
    st second
    jump element
beat_odd:
    ld =&beat_end
    st then
    ld column
    add =8
    st column
    ld from
    add =4
    st from
    ld pair.hi
    {extend}
    st second
    jump element
beat_end:
    ld column
    add =8
    st column
    ld from
    add =4
    add source_tile
    st from
    ld beats_left
    sub =1
    st beats_left
    jpos beat
    ld reduce
    jnz row_reduced
row_next:
    ld source_row
    add source_step
    st source_row
    ld pair_row
    add pair_step
    st pair_row
    ld row_from
    add =4
    st row_from
    ld row_to
    add =4
    st row_to
    ld horizon
    add =1
    st horizon
    ld sink_row
    add sink_step
    st sink_row
    ld fold_left
    sub =1
    st fold_left
    jpos row_same
    ld fold
    st fold_left
    ld sink_row
    add sink_fold
    st sink_row
row_same:
    ld rows_less
    sub =1
    st rows_less
    jpos pass_row
    jump retire
"""

#: Second names of registers. What a move or a product has in them, a pass has not; what its start
#: has in them is done when the rows begin, as is a row's reduction when the next begins.
_NAMES = {
    "rows_less": "times0", "beats_less": "times1", "beats_left": "times2", "low": "row_bytes",
    "high": "times", "source": "factor", "reduce": "upper", "narrow": "product",
    "function_table": "core", "horizon": "core_stride", "limit": "reach", "from": "outer",
    "pair": "flags", "place": "extent", "granule": "rows",
    "even": "w0", "odd": "w2", "cosine": "w4", "sine_factor": "w6", "base_part": "w7",
    "power": "w8",
    "sink": "x", "output": "second", "combine": "multiplier", "table": "shift",
    "addend": "count", "scale": "upper_part",
    "fold_shift": "lower_part", "phase": "unused", "folds": "left_factor",
    "tiles": "right_factor", "depth": "total", "sink_folded": "best",
    "sink_tiled": "best_upper",
    "root": "second", "argument": "straight", "part": "bias", "doubles": "power",
    "found": "base_part", "first_end": "left_factor", "slope": "right_factor",
    "offset_part": "total", "bit": "even", "tried": "odd", "square": "cosine",
}


def passes() -> str:
    """The text."""
    names = "".join(f"name {new} {old}\n" for new, old in _NAMES.items())
    fields = {name: half(Pass, name) for name in (
        "rows", "beats", "valid", "position", "source_base", "source_row_stride",
        "source_tile_stride", "stream_base", "stream_row_stride", "const_base", "row_read",
        "row_write", "multiplier")}
    return names + _START.format(fields="".join(map(_field, _FIELDS)), **fields) + sinks() + (
        _ROWS.format(extend=EXTEND, shift=field(Pass, "shift"),
                     shift_mask=(1 << SHIFT_BITS) - 1, **fields))


def _field(name: str) -> str:
    """A field out of M; ``combine`` begins in the upper half of the word and ends in the lower."""
    place = next(entry for entry in Pass.layout() if entry.name == name)
    width, upper = place.width, place.lsb + place.width - 16
    if name == _FIELDS[0]:
        text = f"setn ={32 - place.lsb}\ncall take\nand =1\nst {name}\n"
    elif 0 < upper < width:
        text = (f"setn ={upper}\ncall take\nsetm w0.lo\nsetn ={width - upper}\nshl\n"
                f"st {name}\n")
    else:
        text = f"setn ={width}\ncall take\n" + f"st {name}\n" * (name not in _ONCE)
    if name in _WAYS:
        text += _WAY.format(name=name, kinds=len(_WAYS[name]))
    return text
