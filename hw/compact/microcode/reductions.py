"""The end of a row's reduction: what the scalar unit of the full core makes of it, and stores."""
from systolith.hw.isa import SCALAR_FRACTION

#: The chords' ends are found bit by bit. ``2**31 / m`` for m = 256 u is the largest v with
#: ``(2 v - 1) u <= 2**24``; of ``2**23 / sqrt(256 u)`` it is ``(2 v - 1)**2 u <= 2**40``.
REDUCTIONS = f"""
row_reduced:                # best_upper:best: 48 bits
    ld reduce
    sub =2
    jz row_whole
    sub =2
    jnz row_signed
    ld best_index
    st best
row_signed:
    ld =0
    st best_upper
    ld best
    jpos row_whole
    ld =-1
    st best_upper
row_whole:
    ld best_upper
    setm best.hi
    setn =16
    shl
    st upper_part
    setm best
    ld do_scalar
    go
    jump scalar_same
    jump scalar_reciprocal
    jump scalar_root
    jump scalar_scale
    jump scalar_mean
scalar_ways:
scalar_mean:
    ld =1
    jump scalar_left
scalar_same:
    ld =16
scalar_left:
    st count
    call left
scalar_store:
    ld x
scalar_write:
    wrw row_to
    jump row_next
scalar_zero:
    ld =0
    jump scalar_write
scalar_scale:
    ld =16
    st count
    call left
    ld x
    setm x
    setn =16
    shr
    st upper_part
    call normalize
    ld =47
    sub count
    st shift
    ld upper_part.hi
    jump scalar_word
scalar_root:
    ld =1
    st root
    call normalize
    ld count
    sub =16
    setn =1
    shr
    add =23
    jump scalar_chord
scalar_reciprocal:
    ld =0
    st root
    call normalize
    ld count
    add =15
scalar_chord:
    st shift
    ld upper_part.hi
    setn ={SCALAR_FRACTION}
    shr
    st argument
    ld upper_part.hi
    and ={(1 << SCALAR_FRACTION) - 1}
    st part
    ld root
    and count
    st doubles
    jz chord_first
    ld argument
    add argument
    st argument
chord_first:
    call search
    ld found
    st first_end
    ld argument
    add =1
    add doubles
    st argument
    call search
    ld first_end
    sub found
    st slope
    setm part
    setn ={SCALAR_FRACTION}
    ld =0
    mul slope
    st slope
    ld first_end
    sub =1
    sub slope
scalar_word:                # A: multiplier
    st multiplier
    setm multiplier
    setn =16
    ld shift
    shl
    jump scalar_write

normalize:                  # upper_part:M, positive, to its uppermost bit; count: bits it has
    ld upper_part
    jneg scalar_zero
    jnz normalize_some
    ld fraction
    jz scalar_zero
normalize_some:
    ld =48
    st count
    ld upper_part
normalize_next:
    jneg normalize_end
    setn =1
    shl
    st upper_part
    ld count
    sub =1
    st count
    ld upper_part
    jump normalize_next
normalize_end:
    ret

search:                     # found = what the function gives for the argument
    ld argument
    sub =1
    setn =2
    shr
    st offset_part
    ld =0
    st found
    ld =0x10000
    st bit
search_bit:
    ld found
    or bit
    st tried
    ld root
    jz search_reciprocal
    ld tried                # v (v - 1) u + (u - 1) // 4 < 2**38
    sub =1
    st square
    setm square
    setn =16
    ld =0
    mul tried
    setn =16
    shl
    jneg search_next
    st square
    setm argument
    setn =16
    ld offset_part
    mul square
    sub =0x400000
    jneg search_found
    jump search_next
search_reciprocal:          # (2 v - 1) u - 1 < 2**24
    ld tried
    add tried
    sub =1
    st square
    setm argument
    setn =16
    ld =-1
    mul square
    sub =0x100
    jpos search_next
search_found:
    ld tried
    st found
search_next:
    setn =1
    ld bit
    shr
    st bit
    jnz search_bit
    ret
"""
