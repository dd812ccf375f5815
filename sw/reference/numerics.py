"""The NumPy definition of every operation of the vector unit and the array, integers only.

Hardware equals these functions bit for bit. All take and return ``int64`` arrays (or anything that
converts to them) whose values stay inside the stated ranges.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray

from systolith.hw.config import TABLE_SEGMENTS
from systolith.hw.isa import (
    SCALAR_FRACTION,
    SCALAR_SEGMENTS,
    SHIFT_BITS,
    SUM_BITS,
    Output,
    scalar_table,
)

Ints = NDArray[np.int64]

#: (lowest, highest) value of each output range.
RANGES = {Output.INT8: (-128, 127), Output.UINT8: (0, 255), Output.INT16: (-32768, 32767)}

#: Right shift of a product of the combine stage: factors from the stream are Q1.14.
COMBINE_SHIFT = 14

#: Right shift of the narrow stage: results carry 7 more bits than an 8-bit output.
NARROW_SHIFT = 7

#: Fractional bits of the input of EXP2, a power of two in the log2 domain.
EXP2_FRACTION = 11

#: Value of EXP2 at 0: 255 with 7 more bits.
EXP2_ONE = 255 << NARROW_SHIFT

#: What a row's maximum is when no element of the row is valid.
EMPTY_MAX = -(1 << 31)

#: Right shift of a sum that is stored as a mean.
MEAN_SHIFT = 15

_SCALAR = np.array(scalar_table(), dtype=np.int64)


def as_ints(x: ArrayLike) -> Ints:
    """``x`` as ``int64``."""
    return np.asarray(x, dtype=np.int64)


def saturate(x: ArrayLike, bits: int) -> Ints:
    """Clamp to the range of a signed number of ``bits`` bits."""
    return np.clip(as_ints(x), -(1 << bits - 1), (1 << bits - 1) - 1)


def rounding_shift(x: ArrayLike, shift: ArrayLike) -> Ints:
    """``x / 2**shift`` to the nearest integer, ties to even (IEEE 754 roundTiesToEven).

    ``x`` lies inside 49 signed bits, ``shift`` in 0 to 63.
    """
    x, shift = as_ints(x), as_ints(shift)
    # The scale's product has 48 bits, so a shift of 62 gives 0 as does one of 63.
    shift = np.minimum(shift, 62)
    quotient = x >> shift
    rest = x - (quotient << shift)
    twice = rest << 1
    unit = as_ints(1) << shift
    up = (twice > unit) | ((twice == unit) & (quotient & 1 == 1))
    return quotient + np.where(shift > 0, up, False)


def scale_word(multiplier: ArrayLike, shift: ArrayLike) -> Ints:
    """Pack a 16-bit multiplier and a 6-bit shift into a scale word."""
    return as_ints(shift) << 16 | as_ints(multiplier)


def split_scale(word: ArrayLike) -> tuple[Ints, Ints]:
    """(multiplier, shift) of a scale word."""
    word = as_ints(word)
    return word & 0xFFFF, word >> 16 & (1 << SHIFT_BITS) - 1


def combine_scales(first: ArrayLike, second: ArrayLike) -> Ints:
    """The product of two scale words as a scale word.

    The multipliers' 32-bit product is rounded to its upper 16 bits (half up: all operands are
    positive); the shift ``s1 + s2 - 16`` is clamped to 0..63.
    """
    (m1, s1), (m2, s2) = split_scale(first), split_scale(second)
    return scale_word(m1 * m2 + 0x8000 >> 16, np.clip(s1 + s2 - 16, 0, 63))


def scale(x: ArrayLike, word: ArrayLike) -> Ints:
    """``x * multiplier / 2**shift``, rounded half to even, saturated to INT32. ``x`` is INT32."""
    multiplier, shift = split_scale(word)
    return saturate(rounding_shift(as_ints(x) * multiplier, shift), 32)


def table_linear(x: ArrayLike, table: ArrayLike) -> Ints:
    """Piecewise linear function of ``x`` saturated to INT16; the result is INT16.

    ``table`` has shape (64, 2): base and slope, INT16. With ``u = x + 32768``, segment
    ``u >> 10`` gives ``base + round(slope * (u % 1024) / 1024)``, ties to even, saturated.
    """
    u = saturate(x, 16) + 32768
    return _interpolate(u >> 10, u & 1023, table)


def table_exp2(x: ArrayLike, table: ArrayLike) -> Ints:
    """``2**(x / 2**11)`` for ``x <= 0`` in units of ``1 / EXP2_ONE``; positive ``x`` counts as 0.

    ``x`` is saturated to INT16. The fraction ``f = -x % 2048`` goes through the table (segment
    ``f >> 5``, rest ``f % 32``), the integer part ``-x >> 11`` is a rounding right shift.
    """
    n = -np.minimum(saturate(x, 16), 0)
    fraction = n & (1 << EXP2_FRACTION) - 1
    power = _interpolate(fraction >> 5, (fraction & 31) << 5, table)
    return rounding_shift(power, n >> EXP2_FRACTION)


def _interpolate(segment: Ints, rest: Ints, table: ArrayLike) -> Ints:
    table = as_ints(table)
    base, slope = table[segment, 0], table[segment, 1]
    return saturate(base + rounding_shift(slope * rest, 10), 16)


def exp2_table() -> Ints:
    """The table of :func:`table_exp2`, shape (64, 2): chords of ``EXP2_ONE * 2**-(segment / 64)``.

    The bases are exact to half a unit; the chord's error is below 0.5 of 32640.
    """
    edges = np.arange(TABLE_SEGMENTS + 1) / TABLE_SEGMENTS
    values = np.rint(EXP2_ONE * 2.0 ** -edges).astype(np.int64)
    return np.stack([values[:-1], np.diff(values)], axis=1)


def rotate(x: ArrayLike, stream: ArrayLike) -> Ints:
    """Rotary embedding of neighbouring pairs (Su et al., RoFormer, 2021).

    ``x`` is saturated to INT16; ``stream`` holds cos at even, sin at odd places, Q1.14. Over the
    last axis: ``y[2i] = x[2i] cos - x[2i+1] sin``, ``y[2i+1] = x[2i+1] cos + x[2i] sin``, each sum
    rounded once by ``2**-14``, ties to even.
    """
    x, stream = saturate(x, 16), as_ints(stream)
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = stream[..., 0::2], stream[..., 1::2]
    y = np.empty(np.broadcast_shapes(x.shape, stream.shape), dtype=np.int64)
    y[..., 0::2] = even * cos - odd * sin
    y[..., 1::2] = odd * cos + even * sin
    return rounding_shift(y, COMBINE_SHIFT)


def multiply(x: ArrayLike, y: ArrayLike) -> Ints:
    """Product of two INT16 (``x`` is saturated first) over ``2**14``, ties to even."""
    return rounding_shift(saturate(x, 16) * saturate(y, 16), COMBINE_SHIFT)


def square(x: ArrayLike) -> Ints:
    """``x`` saturated to INT16, squared: exact."""
    return saturate(x, 16) ** 2


def reciprocal(r: ArrayLike) -> Ints:
    """``1 / r`` as a scale word, for ``r`` of 48 bits; 0 (the scale zero) where ``r <= 0``.

    ``r`` is cut to a 16-bit mantissa ``m`` with ``r ~ m * 2**e``; ``2**31 / m`` comes from a table
    of 128 chords. Relative error below 5e-5 (tested over the whole range of mantissas).
    """
    mantissa, exponent = _normalized(r)
    value = _chord(mantissa, 0)
    return np.where(as_ints(r) > 0, scale_word(value, 31 + exponent), 0)


def inverse_root(r: ArrayLike) -> Ints:
    """``1 / sqrt(r)`` as a scale word, for ``r`` of 48 bits; 0 where ``r <= 0``.

    As :func:`reciprocal`, with a table of ``2**23 / sqrt(m * 2**(e % 2))``. Relative error below
    1e-4.
    """
    mantissa, exponent = _normalized(r)
    value = _chord(mantissa, 1 + (exponent & 1))
    return np.where(as_ints(r) > 0, scale_word(value, 23 + (exponent >> 1)), 0)


def number_scale(r: ArrayLike) -> Ints:
    """``r / 2**31`` as a scale word, ``r`` saturated to INT32, cut to 16 bits; 0 if ``r <= 0``."""
    mantissa, exponent = _normalized(saturate(r, 32))
    return np.where(as_ints(r) > 0, scale_word(mantissa, 31 - exponent), 0)


def mean(r: ArrayLike) -> Ints:
    """``r / 2**15``, ties to even, saturated to INT32: a sum of elements times ``2**15 / n``."""
    return saturate(rounding_shift(r, MEAN_SHIFT), 32)


def _normalized(r: ArrayLike) -> tuple[Ints, Ints]:
    """(mantissa in [2**15, 2**16), exponent), the mantissa cut; of 1 where ``r <= 0``."""
    safe = np.maximum(as_ints(r), 1)
    exponent = np.frexp(safe.astype(np.float64))[1].astype(np.int64) - 16
    mantissa = np.where(exponent >= 0, safe >> np.maximum(exponent, 0),
                        safe << np.maximum(-exponent, 0))
    return mantissa, exponent


def _chord(mantissa: Ints, table: ArrayLike) -> Ints:
    entry = _SCALAR[SCALAR_SEGMENTS * as_ints(table) + (mantissa >> SCALAR_FRACTION)
                    - SCALAR_SEGMENTS]
    fraction = mantissa & (1 << SCALAR_FRACTION) - 1
    return entry[..., 0] - (entry[..., 1] * fraction >> SCALAR_FRACTION)


def reduce_max(x: ArrayLike, valid: ArrayLike) -> Ints:
    """Largest valid element of each row (last axis); :data:`EMPTY_MAX` where there is none."""
    return np.where(valid, as_ints(x), EMPTY_MAX).max(axis=-1, initial=EMPTY_MAX)


def reduce_sum(x: ArrayLike, valid: ArrayLike) -> Ints:
    """Sum of the valid elements, exact: 65,535 INT32 fit the 48 bits of the row's sum."""
    total = np.where(valid, as_ints(x), 0).sum(axis=-1)
    assert np.all(np.abs(total) < 1 << SUM_BITS - 1)
    return total


def reduce_index(x: ArrayLike, valid: ArrayLike) -> Ints:
    """Place of the largest valid element, the first of equal ones; 0 where there is none."""
    return np.where(valid, as_ints(x), EMPTY_MAX).argmax(axis=-1)


def reduce_absmax(x: ArrayLike, valid: ArrayLike) -> Ints:
    """Largest magnitude of the valid elements, at most ``2**31 - 1``; 0 where there is none."""
    magnitude = np.minimum(np.abs(as_ints(x)), (1 << 31) - 1)
    return np.where(valid, magnitude, 0).max(axis=-1, initial=0)


def matmul(left: ArrayLike, right: ArrayLike) -> Ints:
    """``left @ right`` of 8-bit operands, exact, then wrapped to INT32 as the accumulators do.

    Through floating point: every partial sum is below 2**53, so BLAS gives the exact integer.
    """
    product = np.asarray(left, dtype=np.float64) @ np.asarray(right, dtype=np.float64)
    return wrap32(product.astype(np.int64))


def wrap32(x: ArrayLike) -> Ints:
    """``x`` modulo 2**32 as a signed number."""
    return (as_ints(x) + (1 << 31) & (1 << 32) - 1) - (1 << 31)
