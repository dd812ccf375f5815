"""From a float encoder and its magnitudes to the integers of the machine."""
from collections.abc import Sequence
from typing import Any

import numpy as np

from systolith.hw.config import TABLE_SEGMENTS
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.quantize import (
    INT8_MAX,
    INT16_MAX,
    column_divisors,
    quantize,
    quantize_weight,
    scale_word_of,
)
from systolith.sw.encoder.scales import (
    GELU_HEADROOM,
    POOL_HEADROOM,
    RESIDUAL_HEADROOM,
    EncoderLayerScales,
    EncoderScales,
)
from systolith.sw.reference.attention import Projection
from systolith.sw.reference.bert import (
    BertWeights,
    EncoderLayerWeights,
    Norm,
    normal_distribution,
)
from systolith.sw.reference.encoder import (
    POOL_MAX,
    POSITION_HIGH,
    Biased,
    Group,
    QuantizedEncoder,
    QuantizedEncoderLayer,
    QuantizedNorm,
)
from systolith.sw.reference.numerics import COMBINE_SHIFT, MEAN_SHIFT, NARROW_SHIFT, Ints
from systolith.sw.reference.rows import MAGNITUDE_BITS, ROW_MAX
from systolith.sw.reference.softmax import LOG2_UNITS
from systolith.sw.reference.weights import Floats

#: What a product with quantized rows is to be multiplied with, besides the rows' scale words.
ROW_FACTOR = 2.0 ** (31 - MAGNITUDE_BITS) / ROW_MAX

#: Gains below this part of the largest become 0.
NEGLIGIBLE_GAIN = 1e-3

#: How much of a column's magnitude goes to the weights, and the least divisor of a column.
SMOOTHING, LEAST_SMOOTH = 0.7, 1.0 / 4

#: What the column of the least divisor is multiplied with: what a scale word holds.
SMOOTH_FACTOR = 65535.0

#: Least input that GELU's table must cover.
GELU_LEAST = 4.0


def quantize_encoder(weights: BertWeights, scales: EncoderScales, *,
                     group: int | None = None) -> QuantizedEncoder:
    """The integer encoder.

    Parameters
    ----------
    group : int, optional
        Columns of the feed-forward network that are quantized together; the width by default.

    Raises
    ------
    CompileError
        When a scale is outside of what a scale word holds.
    """
    units = [scale.x * RESIDUAL_HEADROOM / INT16_MAX for scale in scales.layers]
    pool = scales.pool * POOL_HEADROOM / INT8_MAX                       # (d,)
    last = float(scales.pool.max()) * RESIDUAL_HEADROOM / INT16_MAX
    ends = [*units[1:], last]
    smooth = [*(smoothing(scale.columns, layer.attention.wq, layer.attention.wk, layer.attention.wv)
                for scale, layer in zip(scales.layers, weights.layers, strict=True)),
              np.ones(weights.width)]
    return QuantizedEncoder(
        **_embedding(weights), norm=_norm(weights.norm, units[0], weights.norm.bias, smooth[0]),
        mean_word=int(scale_word_of((1 << MEAN_SHIFT) / weights.width)),
        layers=tuple(_layer(layer, scales.layers[i], units[i:i + 1] + ends[i:i + 1],
                            smooth[i:i + 2], group or weights.width)
                     for i, layer in enumerate(weights.layers)),
        pool_words=scale_word_of(last / pool),
        unpool_words=scale_word_of(pool / pool.max() * POOL_MAX))


def _embedding(weights: BertWeights) -> dict[str, Any]:
    """Words in units that the largest sum fits, positions in a power of two of these."""
    largest = np.abs(weights.positions).max()
    unit = float(np.abs(weights.words).max() + largest) / INT16_MAX
    limit = POSITION_HIGH * INT8_MAX
    shift = max(0, int(np.ceil(np.log2(largest / unit / limit))))
    position = quantize(weights.positions, unit * 2.0 ** shift, limit)
    high = np.rint(position / POSITION_HIGH).astype(np.int64)
    return {"words": quantize(weights.words, unit, INT16_MAX), "positions_high": high,
            "positions_low": position - POSITION_HIGH * high,
            "position_word": int(scale_word_of(2.0 ** shift))}


def smoothing(columns: Floats, *weights: Floats) -> Floats:
    """Divisors (d,) of the columns of a product's left side, none below the least."""
    return np.maximum(column_divisors(columns, SMOOTHING, *weights), LEAST_SMOOTH)


def _norm(norm: Norm, unit: float, bias: Floats, smooth: Floats) -> QuantizedNorm:
    """The machine divides a row by its length, so the square root of the width is in the gains."""
    negligible = np.abs(norm.gain) < NEGLIGIBLE_GAIN * np.abs(norm.gain).max()
    gain = np.where(negligible, 0.0, norm.gain)
    if np.any(gain < 0):
        raise CompileError(f"gain {gain.min():g} of a layer norm is negative, which a scale word "
                           "cannot hold")
    factor = SMOOTH_FACTOR * smooth.min()
    words = scale_word_of(gain * np.sqrt(len(gain)) / unit)
    return QuantizedNorm(words=words, bias=quantize(bias, unit, INT16_MAX),
                         smooth=scale_word_of(factor / smooth),
                         measure=scale_word_of(factor / ROW_MAX / smooth))


def _layer(layer: EncoderLayerWeights, scales: EncoderLayerScales, units: Sequence[float],
           smooth: Sequence[Floats], size: int) -> QuantizedEncoderLayer:
    """``units`` of the residual before and after, and divisors of the columns there."""
    w, (bq, _, bv, bo), unit = layer.attention, layer.biases, units[0]
    extra = 1 << NARROW_SHIFT
    middle = scales.middle * RESIDUAL_HEADROOM / INT16_MAX
    inner = smoothing(scales.middle_columns, layer.up)
    q, k, v, o = (scale / INT8_MAX for scale in (scales.q, scales.k, scales.v, scales.o))
    columns = [np.repeat(each, w.head_dim) for each in (q / extra, k, v, o)]    # (H * hd,) each
    return QuantizedEncoderLayer(
        q=_biased(w.wq, bq, smooth[0], unit, columns[0]),
        k=_smoothed(w.wk, smooth[0], unit, columns[1]),
        v=_smoothed(w.wv, smooth[0], unit, columns[2]),
        out=_projection(w.wo * columns[3][:, None], bo + bv @ w.wo, unit),
        score_words=scale_word_of(q * k / np.sqrt(w.head_dim) * LOG2_UNITS),
        mix_words=scale_word_of(v / o * extra),
        norm1=_norm(layer.norm1, middle, layer.norm1.bias + layer.down_bias, inner),
        groups=_groups(layer, scales, inner, middle, size),
        norm2=_norm(layer.norm2, units[1], layer.norm2.bias, smooth[1]))


def _groups(layer: EncoderLayerWeights, scales: EncoderLayerScales, smooth: Floats,
            middle: float, size: int) -> tuple[Group, ...]:
    """Columns with inputs of like magnitude together, so that each group's table is as fine as it
    can be, and so are the scales of its rows.

    The residual that enters has the bias of ``down`` already: what it adds is taken off.
    """
    bias = layer.up_bias - layer.down_bias @ layer.up                   # (f,)
    order = np.argsort(scales.gelu, kind="stable")
    groups = []
    for at in (order[i:i + size] for i in range(0, len(order), size)):
        domain = max(GELU_LEAST, float(scales.gelu[at].max()) * GELU_HEADROOM)
        unit = domain / (1 << 15)
        groups.append(Group(up=_biased(layer.up[:, at], bias[at], smooth, middle, unit),
                            down=_rows(layer.down[at], unit, middle), gelu=gelu_table(domain)))
    return tuple(groups)


def _rows(weight: Floats, unit: float, out: float | Floats) -> Projection:
    """A product with quantized rows of INT16 in units of ``unit`` to units of ``out``."""
    integers, scale = quantize_weight(weight)
    return Projection(weight=integers, bias=None,
                      words=scale_word_of(unit * scale * ROW_FACTOR / out))


def _smoothed(weight: Floats, smooth: Floats, unit: float, out: float | Floats) -> Projection:
    """A product with smoothed rows of INT16 in units of ``unit`` to units of ``out``."""
    integers, scale = quantize_weight(weight * smooth[:, None])
    factor = 2.0 ** 31 / (SMOOTH_FACTOR * smooth.min())
    return Projection(weight=integers, bias=None,
                      words=scale_word_of(unit * scale * factor / out))


def _biased(weight: Floats, bias: Floats, smooth: Floats, unit: float,
            out: float | Floats) -> Biased:
    rows = _smoothed(weight, smooth, unit, out)
    return Biased(weight=rows.weight, words=rows.words, bias=quantize(bias / out, 1.0, INT16_MAX))


def _projection(weight: Floats, bias: Floats, out: float) -> Projection:
    """A product with INT8 whose scales are in the weights, to units of ``out``."""
    integers, scale = quantize_weight(weight)
    return Projection(weight=integers, bias=quantize(bias / scale, 1.0, (1 << 31) - 1),
                      words=scale_word_of(scale / out))


def gelu_table(domain: float) -> Ints:
    """Function table (64, 2), Q1.14, of the normal distribution for inputs -domain to domain.

    Chords are shifted by half of their largest distance to the curve, so they err to both sides.
    """
    edges = np.linspace(-domain, domain, TABLE_SEGMENTS + 1)
    values, middles = normal_distribution(edges), normal_distribution((edges[1:] + edges[:-1]) / 2)
    shift = (middles - (values[1:] + values[:-1]) / 2) / 2
    ends = np.rint((values[:-1] + shift) * (1 << COMBINE_SHIFT)).astype(np.int64)
    slopes = np.rint(np.diff(values) * (1 << COMBINE_SHIFT)).astype(np.int64)
    return np.stack([ends, slopes], axis=1)
