"""Decoders whose residual has columns far larger than the others: units and divisors of columns.

One unit for all columns of such a residual is too coarse for the small ones. So each column has a
unit of its own, and each norm divides the columns by what takes from the large ones before a row
becomes INT8, and multiplies the weights after it.
"""
import numpy as np

from systolith.sw.compiler.quantize import INT16_MAX, scale_word_of
from systolith.sw.decoder.scales import RESIDUAL_HEADROOM, DecoderScales
from systolith.sw.reference.quantized_decoder import Columns
from systolith.sw.reference.rows import ROW_MAX
from systolith.sw.reference.weights import Floats

#: A residual that outgrows its first magnitude by this factor gets larger units on the way.
GROWTH = 16.0

#: Rounding error of a residual in one unit, relative to its median element, from which on each
#: column gets a unit of its own. It is below 0.05 % in glassllm and at most 0.2 % in the
#: mathformers, whose columns are of like size; it would be 25 % in SmolLM2.
RESIDUAL_ERROR = 0.02

#: Least unit of a column, relative to the largest.
LEAST_UNIT = 2.0 ** -16

#: How much of a column's magnitude goes to the weights.
EXPONENT = 0.5

#: Largest factors before the largest magnitude of a row is found, and when its length is computed;
#: largest element for the latter. Scale words hold factors below 2**16.
MEASURE_FACTOR, LENGTH_FACTOR, LENGTH_MAX = 256.0, 65535.0, 16384.0


def residual_units(scales: DecoderScales) -> Floats:
    """The unit of the residual at each place, (places, 1); or that of each column, (places, d),
    where one for all is too coarse, as the samples of calibration show.

    It is the same at all places, but a larger one from where the residual outgrows its magnitude.
    """
    columns = _spans(scales.x)
    shared = columns.max(axis=1, keepdims=True)                         # (places, 1)
    error = float((shared[:, 0] / scales.typical).max() / np.sqrt(12))
    return columns if error > RESIDUAL_ERROR else shared


def _spans(x: Floats) -> Floats:
    """Units of the columns at each place, from their magnitudes (places, d)."""
    sizes, units = x.max(axis=1), np.zeros_like(x)
    start = 0
    while start < len(x):
        limit = sizes[:start + 1].max() * GROWTH
        end = next((i for i in range(start, len(x)) if sizes[i] > limit), len(x))
        units[start:end] = x[:end].max(axis=0) * RESIDUAL_HEADROOM / INT16_MAX
        start = end
    return np.maximum(units, LEAST_UNIT * units.max(axis=1, keepdims=True))


def norm_columns(unit: Floats, divisors: Floats) -> tuple[Columns, float]:
    """The scale words of a norm.

    Parameters
    ----------
    unit, divisors : (d,)
        Of the residual's columns.

    Returns
    -------
    columns : Columns
    factor : float
        What a row's length is too large by, besides its factor :data:`ROW_MAX`.
    """
    ratio = unit / divisors                                             # (d,)
    measure = MEASURE_FACTOR / ratio.max()
    length = min(LENGTH_FACTOR / unit.max(), LENGTH_MAX * measure)
    return Columns(measure=scale_word_of(ratio * measure),
                   smooth=scale_word_of(ratio * measure * ROW_MAX),
                   length=scale_word_of(unit * length)), length / measure
