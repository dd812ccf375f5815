"""From a float decoder and its magnitudes to the integers of the machine."""
from dataclasses import dataclass

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
from systolith.sw.decoder.scales import (
    HIDDEN_HEADROOM,
    LOGIT_HEADROOM,
    DecoderScales,
    LayerScales,
)
from systolith.sw.decoder.smoothing import EXPONENT, norm_columns, residual_units
from systolith.sw.reference.decoder import LENGTH_BITS
from systolith.sw.reference.numerics import COMBINE_SHIFT, NARROW_SHIFT, Ints
from systolith.sw.reference.quantized_decoder import (
    Columns,
    Linear,
    QuantizedDecoder,
    QuantizedLayer,
)
from systolith.sw.reference.rows import MAGNITUDE_BITS, ROW_MAX
from systolith.sw.reference.softmax import LOG2_UNITS
from systolith.sw.reference.weights import AttentionWeights, Floats, LayerWeights, LlamaWeights

#: The sigmoid's table covers -this to this: outside, the sigmoid is 0 or 1 to 4.5e-5.
SIGMOID_DOMAIN = 10.0

#: What one unit of the sigmoid's input stands for.
SIGMOID_UNIT = SIGMOID_DOMAIN / (1 << 15)


def quantize_decoder(weights: LlamaWeights, scales: DecoderScales) -> QuantizedDecoder:
    """The integer decoder.

    Gains of norms are folded into the weights after them, and the square root of the width with
    them: the machine divides a row by its length, not by its root mean square.

    Raises
    ------
    CompileError
        When a layer has a bias, no rotary embedding, or is not causal.
    """
    first = _checked(weights)
    x = residual_units(scales)                                          # (places, 1) or (places, d)
    logit_scale = scales.logits * LOGIT_HEADROOM / INT16_MAX
    norm = _Norm(weights.norm, x[-1], scales.norm, weights.head)
    return QuantizedDecoder(
        embedding=quantize(weights.embedding, x[0], INT16_MAX),
        layers=tuple(_layer(layer, scale, x[2 * i:2 * i + 3])
                     for i, (layer, scale) in enumerate(zip(weights.layers, scales.layers,
                                                            strict=True))),
        head=norm.linear(weights.head, logit_scale), rope=_rope(first), heads=first.heads,
        sigmoid=sigmoid_table(), x_scales=tuple(_number(unit) for unit in x[::2]),
        logit_scale=logit_scale, norm=norm.columns)


def _number(units: Floats) -> float | Floats:
    """One unit as a number."""
    return float(units[0]) if len(units) == 1 else units


def _grow(before: Floats, after: Floats) -> int | Ints | None:
    """The scale words from some units to others; None where they are the same."""
    if np.array_equal(before, after):
        return None
    words = scale_word_of(before / after)
    return int(words[0]) if len(words) == 1 else words


class _Norm:
    """A norm with ``gain`` (d,) of a residual in ``units``, and what multiplies its rows.

    ``magnitudes`` (d,) are those of its columns before the gain. With one unit for all columns they
    are not divided.
    """

    def __init__(self, gain: Floats, units: Floats, magnitudes: Floats, *weights: Floats):
        self.columns: Columns | None = None
        self._rows, factor = gain, 2.0 ** LENGTH_BITS
        if len(units) > 1:
            divisors = column_divisors(magnitudes, EXPONENT, *(w * gain[:, None] for w in weights))
            self.columns, factor = norm_columns(units, divisors)
            self._rows = gain * divisors
        self._factor = np.sqrt(len(gain)) * factor / ROW_MAX

    def linear(self, weight: Floats, unit: Floats | float) -> Linear:
        """A linear layer after the norm; one of its result is ``unit``."""
        return _linear(weight * self._rows[:, None], self._factor, unit)


def _checked(weights: LlamaWeights) -> AttentionWeights:
    for index, layer in enumerate(weights.layers):
        w = layer.attention
        if any(bias is not None for bias in (w.bq, w.bk, w.bv, w.bo)):
            raise CompileError(f"layer {index} has a bias in its attention, which rows with a "
                               "scale of their own cannot add")
        if w.cos is None or not w.causal:
            raise CompileError(f"layer {index} has no rotary embedding or is not causal; a decoder "
                               "needs both")
    return weights.layers[0].attention


def _layer(layer: LayerWeights, scales: LayerScales, x: Floats) -> QuantizedLayer:
    w = layer.attention.neighbours()
    units = {name: _shared(getattr(scales, name), w.kv_heads) / INT8_MAX for name in "qkvo"}
    narrow = 1 << NARROW_SHIFT
    columns = {name: np.repeat(units[name], w.head_dim * count) for name, count in
               (("q", w.group), ("k", 1), ("v", 1), ("o", w.group))}
    hidden = _hidden(layer.down, scales, smooth=x.shape[1] > 1)
    norm1 = _Norm(layer.norm1, x[0], scales.norm1, w.wq, w.wk, w.wv)
    norm2 = _Norm(layer.norm2, x[1], scales.norm2, layer.gate, layer.up)
    return QuantizedLayer(
        q=norm1.linear(w.wq, columns["q"] / narrow), k=norm1.linear(w.wk, columns["k"] / narrow),
        v=norm1.linear(w.wv, columns["v"]), out=_linear(w.wo * columns["o"][:, None], 1.0, x[1]),
        score_words=scale_word_of(units["q"] * units["k"] / np.sqrt(w.head_dim) * LOG2_UNITS),
        mix_words=scale_word_of(units["v"] / units["o"] * narrow),
        gate=norm2.linear(layer.gate, hidden.gate),
        squash_words=None if np.all(hidden.gate == SIGMOID_UNIT) else
        norm2.linear(layer.gate, SIGMOID_UNIT).words,
        up=norm2.linear(layer.up, hidden.up),
        down=_linear(layer.down * hidden.divisors[:, None],
                     hidden.unit / ROW_MAX * 2.0 ** (31 - MAGNITUDE_BITS), x[2]),
        grow_attention=_grow(x[0], x[1]), grow_feed_forward=_grow(x[1], x[2]),
        norm1=norm1.columns, norm2=norm2.columns)


def _shared(magnitudes: Floats, kv_heads: int) -> Floats:
    """The largest of each group of heads that share keys and values: (kv_heads,)."""
    return magnitudes.reshape(kv_heads, -1).max(axis=1)


@dataclass(frozen=True)
class _Hidden:
    """Units of the columns of ``gate`` and ``up``; those of their product are ``divisors`` times
    ``unit``."""

    gate: Floats
    up: Floats
    divisors: Floats
    unit: float


def _hidden(down: Floats, scales: LayerScales, *, smooth: bool) -> _Hidden:
    """Units of the parts of the feed-forward network, none of which is to saturate.

    They are the same for all columns, or, with ``smooth``, those of ``gate`` and of the product
    follow the columns' magnitudes.
    """
    gate, up, product = scales.gate, scales.up, scales.hidden           # (f,) each
    divisors: Floats = np.ones(len(gate))
    if smooth:
        divisors = column_divisors(product, EXPONENT, down)
    else:
        gate, up, product = (np.full(len(each), each.max()) for each in (gate, up, product))
    gate_unit = np.maximum(gate * HIDDEN_HEADROOM / INT16_MAX, SIGMOID_UNIT)
    factor = gate_unit * 2.0 ** COMBINE_SHIFT
    unit = float((np.maximum(up * factor, product) / divisors).max()) * HIDDEN_HEADROOM / INT16_MAX
    return _Hidden(gate=gate_unit, up=unit * divisors / factor, divisors=divisors, unit=unit)


def _linear(weight: Floats, factor: float, unit: Floats | float) -> Linear:
    integers, scale = quantize_weight(weight)                           # (in, out), (out,)
    return Linear(weight=integers, words=scale_word_of(scale * factor / unit))


def sigmoid_table() -> Ints:
    """Function table (64, 2) of the sigmoid in Q1.14, INT16 being +-:data:`SIGMOID_DOMAIN`.

    Chords moved by half of their largest error, so that errors are of both signs.
    """
    step = (1 << 16) // TABLE_SEGMENTS
    edges = (np.arange(TABLE_SEGMENTS + 1) * step / (1 << 15) - 1) * SIGMOID_DOMAIN
    middle = (edges[:-1] + edges[1:]) / 2
    values = _sigmoid(edges)
    error = _sigmoid(middle) - (values[:-1] + values[1:]) / 2           # (64,)
    one = 1 << COMBINE_SHIFT
    base = np.rint((values[:-1] + error / 2) * one).astype(np.int64)
    slope = np.rint(np.diff(values) * one).astype(np.int64)
    return np.stack([base, slope], axis=1)


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def _rope(w: AttentionWeights) -> Ints:
    """cos and sin interleaved, (positions, hd) INT16 Q1.14."""
    assert w.cos is not None
    assert w.sin is not None
    pairs = np.stack([w.cos, w.sin], axis=-1)                           # (positions, hd / 2, 2)
    return np.rint(pairs.reshape(len(pairs), -1) * (1 << COMBINE_SHIFT)).astype(np.int64)
