"""Where a pass writes: the places of the sink's memory, their check, and the steps between them."""
from systolith.hw.compact.microcode.fields import half
from systolith.hw.isa import Pass

#: ``wide``: shift from words to bytes. ``granule``: elements of a word less one, ``step`` bytes
#: apart. ``fold``: rows of a word less one, ``sink_step`` bytes apart, ``fold_shift`` bits.
_SINKS = """
    ld =1
    st granule
    st step
    ld =0
    st fold
    st fold_left
    st fold_shift
    st sink_step
    ld sink
    jz sink_known
    sub =1
    jz sink_is_act
    sub =1
    jz sink_is_rows
    sub =1
    jz sink_is_lanes
    ld =2
    st step
    st wide
    ld =VEC_DEPTH
    st depth
    ld =VEC
    jump sink_kind
sink_is_act:
    ld =7
    st granule
    ld =3
    st wide
    ld =ACT_DEPTH
    st depth
    ld =ACT
    jump sink_kind
sink_is_rows:
    ld =7
    st fold
    ld =3
    st fold_shift
    ld =2
    st sink_step
    jump sink_is_wgt
sink_is_lanes:
    ld =7
    st granule
    ld =2
    st step
    ld =1
    st fold
    st fold_shift
    st sink_step
sink_is_wgt:
    ld =4
    st wide
    ld =WGT_DEPTH
    st depth
    ld =WGT
sink_kind:                  # A: first byte of the memory
    st to
    ld {position}
    and fold
    st phase
    add rows_less
    st folds
    ld fold_shift
    jz sink_unfolded
    setn fold_shift
    ld folds
    shr
    st folds
sink_unfolded:
    ld granule
    sub =1
    jz sink_narrow
    setn =2
    ld beats_less
    shr
    jump sink_tiles
sink_narrow:
    ld beats_less
sink_tiles:
    st tiles
    ld {sink_base}
    setm folds
    setn =16
    mul {sink_row_stride}
    jnz outside
    ld fraction
    setm tiles
    setn =16
    mul {sink_tile_stride}
    jnz outside
    ld fraction
    sub depth
    jpos outside
    ld {sink_base}
    call bytes
    add to
    st sink_row
    ld phase
    jz sink_first
    setm phase
    setn =3
    ld =0
    mul sink_step
    setn =3
    shl
    add sink_row
    st sink_row
sink_first:
    setm fold
    ld sink_step
    setn =3
    mul sink_step
    setn =3
    shl
    st sink_folded
    setm granule
    ld step
    setn =3
    mul step
    setn =3
    shl
    st sink_tiled
    ld {sink_row_stride}
    call bytes
    sub sink_folded
    st sink_fold
    ld {sink_tile_stride}
    call bytes
    sub sink_tiled
    st sink_tile
    ld fold
    sub phase
    st fold_left
sink_known:
"""


def sinks() -> str:
    """The text."""
    fields = {name: half(Pass, name) for name in (
        "position", "sink_base", "sink_row_stride", "sink_tile_stride")}
    return _SINKS.format(**fields)
