"""Rows of INT8 with a scale of their own: dynamic quantization as the vector unit does it."""
from dataclasses import dataclass

from systolith.hw.isa import Output
from systolith.sw.reference import numerics
from systolith.sw.reference.attention import narrowed
from systolith.sw.reference.numerics import Ints

#: Largest magnitude of a quantized row.
ROW_MAX = 127

#: Left shift of a largest magnitude before it becomes a scale ``magnitude / 2**31``.
MAGNITUDE_BITS = 14


@dataclass(frozen=True)
class Rows:
    """Rows INT8 (T, in), and the scale word (T,) of the product with each row: proportional to the
    row's largest magnitude."""

    values: Ints
    words: Ints


def tensor_word(factor: int) -> int:
    """The scale word of an integer below 2**16, its multiplier normalized."""
    shift = 16 - factor.bit_length()
    return shift << 16 | factor << shift


def quantized(x: Ints, inverse: Ints) -> Rows:
    """INT16 (T, in) over the row's largest magnitude, whose reciprocal is ``inverse`` (T,)."""
    word = numerics.combine_scales(tensor_word(ROW_MAX), inverse[:, None])
    magnitude = numerics.scale(x, tensor_word(1 << MAGNITUDE_BITS))
    return Rows(narrowed(numerics.scale(x, word), Output.INT8),
                numerics.number_scale(numerics.reduce_absmax(magnitude, True)))


def smoothed(x: Ints, words: Ints, measure: Ints) -> Rows:
    """INT16 (T, in), each column times its scale ``words`` (in,), over the row's largest magnitude.

    ``measure`` are the same scales over :data:`ROW_MAX`: the row's word is that largest magnitude
    over ``2**31``.
    """
    largest = numerics.reduce_absmax(numerics.scale(x, measure), True)              # (T,)
    inverse = numerics.reciprocal(largest)[:, None]
    h = numerics.scale(x, numerics.combine_scales(words, inverse))
    return Rows(narrowed(h, Output.INT8), numerics.number_scale(largest))
