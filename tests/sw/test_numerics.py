"""Properties of the arithmetic, with the worst error of each approximation."""
from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from systolith.sw.reference import numerics

INT32 = st.integers(-2 ** 31, 2 ** 31 - 1)
INT16 = st.integers(-2 ** 15, 2 ** 15 - 1)
WORD = st.builds(lambda m, s: s << 16 | m, st.integers(0, 65535), st.integers(0, 63))


def half_even(x: Fraction) -> int:
    """Nearest integer, ties to even: what Python's round does on fractions."""
    return round(x)


def clamp(x: int, bits: int) -> int:
    return max(-2 ** (bits - 1), min(2 ** (bits - 1) - 1, x))


@given(st.integers(-2 ** 48, 2 ** 48 - 1), st.integers(0, 63))
@example(1, 1)
@example(3, 1)
@example(-1, 1)
@example(-3, 1)
@example(2 ** 48 - 1, 63)
def test_rounding_shift_is_round_half_even(x, shift):
    assert numerics.rounding_shift(x, shift) == half_even(Fraction(x, 2 ** shift))


@given(INT32, WORD)
@example(-2 ** 31, 65535)
@example(2 ** 31 - 1, 65535)
@example(-2 ** 31, 63 << 16 | 65535)
def test_scale(x, word):
    exact = Fraction(x * (word & 65535), 2 ** (word >> 16))
    assert numerics.scale(x, word) == clamp(half_even(exact), 32)


@given(WORD, WORD)
def test_combine_scales(first, second):
    def value(word):
        return Fraction(int(word) & 65535, 2 ** (int(word) >> 16))
    (m1, s1), (m2, s2) = ((w & 65535, w >> 16) for w in (first, second))
    result = numerics.combine_scales(first, second)
    assert 0 <= result & 65535 <= 65535
    if 0 <= s1 + s2 - 16 <= 63:
        # Half a unit of the result's multiplier.
        error = abs(value(result) - value(first) * value(second))
        assert error <= Fraction(1, 2) / 2 ** (int(result) >> 16)
    else:
        assert int(result) >> 16 == (0 if s1 + s2 < 16 else 63)
    assert result & 65535 == (m1 * m2 + 2 ** 15) // 2 ** 16


@given(st.lists(INT16, min_size=2, max_size=2), st.lists(INT16, min_size=2, max_size=2))
@example([-2 ** 15, -2 ** 15], [-2 ** 15, -2 ** 15])
def test_rotate(x, stream):
    (a, b), (c, s) = x, stream
    expected = [half_even(Fraction(sum_, 2 ** 14)) for sum_ in (a * c - b * s, b * c + a * s)]
    assert numerics.rotate(x, stream).tolist() == expected


@given(INT32, INT16)
def test_multiply(x, y):
    assert numerics.multiply(x, y) == half_even(Fraction(clamp(x, 16) * y, 2 ** 14))


@given(INT32, st.lists(st.tuples(INT16, INT16), min_size=64, max_size=64))
@example(2 ** 31 - 1, [(2 ** 15 - 1, 2 ** 15 - 1)] * 64)
@example(-2 ** 31, [(-2 ** 15, -2 ** 15)] * 64)
def test_table_linear(x, table):
    u = clamp(x, 16) + 2 ** 15
    base, slope = table[u >> 10]
    exact = base + half_even(Fraction(slope * (u & 1023), 1024))
    assert numerics.table_linear(x, table) == clamp(exact, 16)


def test_exp2_over_the_whole_range():
    """Worst error 1.4 units of 32640 (4.3e-5 of the row's maximum): chord, base and rounding."""
    x = np.arange(-32768, 1)
    y = numerics.table_exp2(x, numerics.exp2_table())
    error = np.abs(y - numerics.EXP2_ONE * 2.0 ** (x / 2048))
    print("exp2 worst error, units of 1/32640:", error.max())
    assert y[-1] == numerics.EXP2_ONE
    assert np.all(np.diff(y) >= 0)
    assert error.max() < 1.4


@given(st.integers(-2 ** 31, 2 ** 31 - 1))
@example(1)
def test_exp2_outside_its_range(x):
    table = numerics.exp2_table()
    expected = numerics.table_exp2(min(0, max(-32768, x)), table)
    assert numerics.table_exp2(x, table) == expected


def test_reciprocal_over_all_mantissas():
    """Relative error below 1.3e-4 for every 16-bit mantissa and every exponent."""
    mantissa = np.arange(2 ** 15, 2 ** 16)
    worst = 0.0
    for exponent in range(-15, 16):
        r = mantissa << exponent if exponent >= 0 else mantissa >> -exponent
        multiplier, shift = numerics.split_scale(numerics.reciprocal(r))
        worst = max(worst, np.abs(multiplier / 2.0 ** shift * r - 1).max())
        if exponent > 0:
            # What the mantissa cuts off.
            r = r + (1 << exponent) - 1
            multiplier, shift = numerics.split_scale(numerics.reciprocal(r))
            worst = max(worst, np.abs(multiplier / 2.0 ** shift * r - 1).max())
    print("reciprocal worst relative error:", worst)
    assert worst < 1.3e-4


@given(st.integers(-2 ** 31, 0))
def test_reciprocal_of_what_is_not_positive_is_the_scale_zero(r):
    assert numerics.reciprocal(r) == 0


@given(st.lists(st.tuples(INT32, st.booleans()), min_size=1, max_size=20))
def test_reductions(elements):
    x = np.array([[value for value, _ in elements]])
    valid = np.array([[flag for _, flag in elements]])
    chosen = [value for value, flag in elements if flag]
    assert numerics.reduce_max(x, valid)[0] == max(chosen, default=-2 ** 31)
    assert numerics.reduce_sum(x, valid)[0] == sum(chosen)
    assert numerics.reduce_absmax(x, valid)[0] == max(
        (min(abs(v), 2 ** 31 - 1) for v in chosen), default=0)


@given(st.lists(st.integers(-2 ** 31, 2 ** 31 - 1), min_size=1, max_size=20), st.data())
def test_index_is_the_first_of_the_largest(x, data):
    valid = data.draw(st.integers(0, len(x)))
    got = numerics.reduce_index([x], [np.arange(len(x)) < valid])[0]
    assert got == (x.index(max(x[:valid])) if valid else 0)


@given(st.integers(1, 2 ** 47 - 1))
def test_inverse_root_and_number_scale(r):
    multiplier, shift = numerics.split_scale(numerics.inverse_root(r))
    assert abs(float(multiplier) / 2.0 ** int(shift) * r ** 0.5 - 1) < 1e-4
    multiplier, shift = numerics.split_scale(numerics.number_scale(r))
    number = min(r, 2 ** 31 - 1)
    assert -2 ** -15 < float(multiplier) / 2.0 ** int(shift) * 2 ** 31 / number - 1 <= 0


@given(st.integers(-2 ** 47, 2 ** 47 - 1))
def test_mean(r):
    assert numerics.mean(r) == max(-2 ** 31, min(2 ** 31 - 1, round(Fraction(r, 2 ** 15))))


def test_matmul_is_exact_and_wraps():
    assert numerics.matmul([[-128] * 4], [[-128]] * 4) == 4 * 2 ** 14
    # The longest contraction that one command reaches is exact before it wraps.
    count = 2 ** 18
    sums = numerics.matmul(np.full((1, count), 255), np.full((count, 1), -128))
    assert sums == numerics.wrap32(-255 * 128 * count)


@given(st.integers(-2 ** 60, 2 ** 60))
def test_wrap32(x):
    wrapped = int(numerics.wrap32(x))
    assert -2 ** 31 <= wrapped < 2 ** 31
    assert (wrapped - x) % 2 ** 32 == 0
