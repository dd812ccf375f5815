"""From a float decoder and its magnitudes to the integers of the machine."""
from collections.abc import Sequence

import numpy as np

from systolith.hw.config import TABLE_SEGMENTS
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.quantize import (
    INT8_MAX,
    INT16_MAX,
    quantize,
    quantize_weight,
    scale_word_of,
)
from systolith.sw.decoder.scales import (
    HIDDEN_HEADROOM,
    LOGIT_HEADROOM,
    RESIDUAL_HEADROOM,
    DecoderScales,
    LayerScales,
)
from systolith.sw.reference.decoder import (
    LENGTH_BITS,
    MAGNITUDE_BITS,
    ROW_MAX,
    Linear,
    QuantizedDecoder,
    QuantizedLayer,
)
from systolith.sw.reference.numerics import COMBINE_SHIFT, NARROW_SHIFT, Ints
from systolith.sw.reference.softmax import LOG2_UNITS
from systolith.sw.reference.weights import AttentionWeights, Floats, LayerWeights, LlamaWeights

#: The sigmoid's table covers -this to this: outside, the sigmoid is 0 or 1 to 4.5e-5.
SIGMOID_DOMAIN = 10.0

#: A residual that outgrows its first magnitude by this factor gets larger units on the way.
GROWTH = 16.0


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
    x = _residual_units(scales.x)
    logit_scale = scales.logits * LOGIT_HEADROOM / INT16_MAX
    return QuantizedDecoder(
        embedding=quantize(weights.embedding, x[0], INT16_MAX),
        layers=tuple(_layer(layer, scale, x[2 * i:2 * i + 3])
                     for i, (layer, scale) in enumerate(zip(weights.layers, scales.layers,
                                                            strict=True))),
        head=_after_norm(weights.head, weights.norm, logit_scale), rope=_rope(first),
        heads=first.heads, sigmoid=sigmoid_table(), x_scales=x[::2], logit_scale=logit_scale)


def _residual_units(magnitudes: Sequence[float]) -> tuple[float, ...]:
    """The unit at each place: one for all, but a larger one from where it outgrows the first."""
    units: list[float] = []
    while len(units) < len(magnitudes):
        rest = magnitudes[len(units):]
        limit = max(rest[0], *magnitudes[:len(units)], 0.0) * GROWTH
        count = next((i for i, size in enumerate(rest) if size > limit), len(rest))
        largest = max(*magnitudes[:len(units) + count], 0.0)
        units += [largest * RESIDUAL_HEADROOM / INT16_MAX] * count
    return tuple(units)


def _grow(before: float, after: float) -> int | None:
    """The scale word from one unit to another; None where they are the same."""
    return None if before == after else int(scale_word_of(before / after))


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


def _layer(layer: LayerWeights, scales: LayerScales, x: Sequence[float]) -> QuantizedLayer:
    w = layer.attention.neighbours()
    units = {name: _shared(getattr(scales, name), w.kv_heads) / INT8_MAX for name in "qkvo"}
    narrow = 1 << NARROW_SHIFT
    columns = {name: np.repeat(units[name], w.head_dim * count) for name, count in
               (("q", w.group), ("k", 1), ("v", 1), ("o", w.group))}
    sigmoid_unit = SIGMOID_DOMAIN / (1 << 15)
    gate_unit = max(scales.gate * HIDDEN_HEADROOM / INT16_MAX, sigmoid_unit)
    up_unit, hidden_unit = _hidden_units(scales, gate_unit)
    return QuantizedLayer(
        q=_after_norm(w.wq, layer.norm1, columns["q"] / narrow),
        k=_after_norm(w.wk, layer.norm1, columns["k"] / narrow),
        v=_after_norm(w.wv, layer.norm1, columns["v"]),
        out=_linear(w.wo * columns["o"][:, None], 1.0, x[1]),
        score_words=scale_word_of(units["q"] * units["k"] / np.sqrt(w.head_dim) * LOG2_UNITS),
        mix_words=scale_word_of(units["v"] / units["o"] * narrow),
        gate=_after_norm(layer.gate, layer.norm2, gate_unit),
        squash_words=None if gate_unit == sigmoid_unit else
        _after_norm(layer.gate, layer.norm2, sigmoid_unit).words,
        up=_after_norm(layer.up, layer.norm2, up_unit),
        down=_linear(layer.down, hidden_unit / ROW_MAX * 2.0 ** (31 - MAGNITUDE_BITS), x[2]),
        grow_attention=_grow(x[0], x[1]), grow_feed_forward=_grow(x[1], x[2]))


def _shared(magnitudes: Floats, kv_heads: int) -> Floats:
    """The largest of each group of heads that share keys and values: (kv_heads,)."""
    return magnitudes.reshape(kv_heads, -1).max(axis=1)


def _hidden_units(scales: LayerScales, gate_unit: float) -> tuple[float, float]:
    """Units of the up projection and of its product with the gate; neither is to saturate."""
    unit = gate_unit * 2.0 ** COMBINE_SHIFT
    up_unit = max(scales.up, scales.hidden / unit) * HIDDEN_HEADROOM / INT16_MAX
    return up_unit, up_unit * unit


def _after_norm(weight: Floats, gain: Floats, unit: Floats | float) -> Linear:
    """A linear layer that follows a norm with ``gain`` (in,); one of its result is ``unit``."""
    factor = np.sqrt(len(gain)) * 2.0 ** LENGTH_BITS / ROW_MAX
    return _linear(weight * gain[:, None], factor, unit)


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
