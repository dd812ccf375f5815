"""The steps of one element of a pass, each a way that the command's fields have chosen."""
from systolith.hw.isa import SHIFT_BITS

_SOURCE = """
element:                    # second: the stream's element, or that of source VEC
    ld source
    jnz element_vec
    rd from
    st x
    ld do_addend
    go
element_vec:
    ld second
    st x
    ld do_addend
    go
    jump added
    jump add_column
    jump add_row
addend_ways:
add_row:
    ld x
    sub row_word
    jump add_sum
add_column:
    rd column
    st bias
    ld x
    add bias
add_sum:
    st x
    call clamp
added:
    ld do_scale
    go
    jump scaled
    jump scale
    jump scale_column
scale_ways:                 # those after are with a row's scale
    jump scale
    jump scale
    jump scale_column
"""

_SCALE = f"""
scale_column:               # multiplier and shift of the element's column
    ld column
    st p
    call next_word
    st bias
    ld bias.lo
    st multiplier
    ld bias.hi
    and ={(1 << SHIFT_BITS) - 1}
    st shift
    ld row_scale
    jz scale
    call by_row
    jump scale
by_row:                     # multiplier and shift, times those of the row
    setm multiplier
    setn =16
    ld =0x8000
    mul row_word.lo
    st multiplier
    ld row_word.hi
    and ={(1 << SHIFT_BITS) - 1}
    add shift
    sub =16
    st shift
    jpos by_row_end
    ld =0
    st shift
by_row_end:
    ret
scale:                      # x * multiplier / 2**shift
    ld shift
    sub =16
    st count
    setm multiplier
    setn =16
    jneg scale_left
    jz scale_whole
    sub =32
    jpos scale_nothing
    ld =0
    mul x
    setn count
    shr
    jump scale_round
scale_left:
    ld =0
    sub count
    st count
    ld =0
    mul x
    st upper_part
    call left
    jump scaled
scale_nothing:              # below a half, as the product has 48 bits
    ld =0
    jump scale_set
scale_whole:
    ld =0
    mul x
scale_round:
    round
scale_set:
    st x
"""

_CLAMP = """
left:                       # x = upper_part:M << count, 1 to 16, rounded to INT32
    ld fraction
    st lower_part
    ld =31
    sub count
    st unused
    ld upper_part
    setn unused
    shr
    jz left_fits
    add =1
    jz left_fits
    ld upper_part
    jneg clamp_lowest
    jump clamp_highest
left_fits:
    ld upper_part
    setm lower_part
    setn count
    shl
    round
    st x
clamp:                      # x = A, with the flags of its sum, saturated to INT32
    jlt clamp_negative
    jpos clamp_end
clamp_highest:
    ld =0x7fffffff
    st x
    ret
clamp_negative:
    jneg clamp_end
clamp_lowest:
    ld =-0x80000000
    st x
clamp_end:
    ret
clamp16:                    # x saturated to INT16
    ld =32767
    cmp x
    jlt clamp16_set
    ld =-32768
    cmp x
    jlt clamp16_end
clamp16_set:
    st x
clamp16_end:
    ret
"""

_FUNCTION = """
scaled:
    ld x
    st straight
    ld do_function
    go
    jump combined
    jump linear
    jump exp2
function_ways:
linear:
    call clamp16
    ld =0
    st power
    ld x
    add =0x8000
    setm =0
    setn =10
    shr
    jump interpolate
exp2:
    call clamp16
    ld x
    jneg exp2_negative
    ld =0
    st x
exp2_negative:
    ld =0
    sub x
    st power
    and =0x7ff
    setm =0
    setn =5
    shr
interpolate:                # base + slope * M / 2**16 of the segment in A
    st p
    add p
    st p
    add p
    st p
    add p
    add function_table
    st p
    rd p
    st base_part
    call next_word
    st p
    ld =0
    setn =16
    mul p
    round
    add base_part
    st x
    call clamp16
    setm =0
    setn =11
    ld power
    shr
    jz combined
    st power
    setm =0
    setn power
    ld x
    shr
    round
    st x
combined:
    ld do_combine
    go
"""

_COMBINE = """
    jump finish
    jump add_second
    jump multiply
    jump multiply_straight
    jump rotate
    jump square
combine_ways:
add_second:
    ld x
    add second
    st x
    call clamp
    jump finish
square:
    call clamp16
    ld x
    st left_factor
    st right_factor
    ld =0
    st total
    call add_product
    ld total
    setn =16
    shl
    st x
    jump finish
multiply_straight:
    call clamp16
    ld x
    st second
    ld straight
    st x
multiply:
    call clamp16
    ld x
    st left_factor
    ld =0
    st total
multiply_last:
    ld second
    st right_factor
    call add_product
    ld total
    setn =2
    shl
    round
    st x
    jump finish
rotate:                     # the first of a pair waits for the second
    call clamp16
    ld then
    sub =&beat_odd
    jnz rotate_first
    ld x
    st even
    ld second
    st cosine
    jump beat_odd
rotate_first:
    ld x
    st odd
    ld =&rotate_second
    st then
    ld =0
    sub odd
    st sine_factor
    ld even
    jump rotate_sum
rotate_second:
    ld =&beat_end
    st then
    ld even
    st sine_factor
    ld odd
rotate_sum:                 # A times the cosine, and sine_factor times the sine
    st left_factor
    ld cosine
    st right_factor
    ld =0
    st total
    call add_product
    ld total
    setn =16
    shl
    st total
    ld sine_factor
    st left_factor
    jump multiply_last
add_product:                # total:M = total + left_factor * right_factor, the latter INT16
    ld right_factor
    jpos add_positive
    ld =0
    sub right_factor
    st right_factor
    ld =0
    sub left_factor
    st left_factor
add_positive:
    setm right_factor
    setn =16
    ld total
    mul left_factor
    st total
    ret
"""

_FINISH = """
finish:
    ld left
    sub =1
    st left
    jneg finish_invalid
    ld do_reduce
    go
    jump narrow
    jump maximum
    jump total_sum
    jump magnitude
    jump place_of_maximum
reduce_ways:
place_of_maximum:
    ld best
    cmp x
    jlt new_place
    jump narrow
new_place:
    ld limit
    sub =1
    sub left
    st best_index
    jump maximum
magnitude:
    ld x
    jpos larger
    ld =0
    sub x
    jpos larger
    ld =0x7fffffff
    jump larger
total_sum:
    ld best
    add x
    st best
    ld best_upper
    jc total_carry
    sub =1
total_carry:
    st best_upper
    ld x
    jneg narrow
    ld best_upper
    add =1
    st best_upper
    jump narrow
maximum:
    ld x
larger:
    cmp best
    jlt narrow
    st best
narrow:
    ld narrow
    jz saturate
    setm =0
    setn =7
    ld x
    shr
    round
    st x
saturate:
    ld high
    cmp x
    jlt saturate_set
    ld low
    cmp x
    jlt write
saturate_set:
    st x
write:
    ld do_sink
    go
finish_invalid:
    ld =0
    jump saturate_set
    jump written
    jump write_byte
    jump write_byte
    jump write_byte
    jump write_half
sink_ways:
write_half:
    ld x
    wrh to
    jump next_place
write_byte:
    ld x
    wrb to
next_place:
    ld to
    add step
    st to
    ld place
    sub =1
    st place
    jpos written
    ld granule
    st place
    ld to
    add sink_tile
    st to
written:
    ld then
    go
"""

ELEMENTS = _CLAMP + _SOURCE + _SCALE + _FUNCTION + _COMBINE + _FINISH
