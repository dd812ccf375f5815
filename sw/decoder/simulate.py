"""What INT8 costs in principle: a decoder with INT8 operands, and all else in floating point.

The weights, their scales and the scales of queries, keys, values and mixed values are those of the
machine, out of its integers, and so is the order of steps: ``systolith.sw.reference.decoder`` with
every function between the products exact. What enters a product is rounded to 8 bits; sums, norms,
softmax, sigmoid, rotary embedding, reciprocals, residual, hidden values and logits are not.
"""
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from systolith.sw.compiler.quantize import INT8_MAX
from systolith.sw.decoder.quantize import SIGMOID_UNIT
from systolith.sw.reference import numerics
from systolith.sw.reference.decoder import LENGTH_BITS, Cache
from systolith.sw.reference.numerics import COMBINE_SHIFT, EXP2_FRACTION, NARROW_SHIFT, Ints
from systolith.sw.reference.quantized_decoder import (
    Columns,
    Linear,
    QuantizedDecoder,
    QuantizedLayer,
)
from systolith.sw.reference.rows import MAGNITUDE_BITS, ROW_MAX
from systolith.sw.reference.weights import Floats

#: Largest probability of a row.
P_MAX = 255


class SimulatedDecoder:
    """A decoder in the units of its integers, which rounds nothing but what products take.

    The embedding is the machine's INT16 one; as in the machine, norms have no epsilon.

    Parameters
    ----------
    model : QuantizedDecoder
    """

    def __init__(self, model: QuantizedDecoder):
        self.model = model

    def decode(self, ids: Sequence[int], cache: Cache) -> Floats:
        """Logits (T, V) in units of ``logit_scale``; ``cache`` grows by the T tokens ``ids``."""
        position, model = cache.length, self.model
        rope = model.rope[position:position + len(ids)] / 2.0 ** COMBINE_SHIFT     # (T, hd)
        x = model.embedding[list(ids)].astype(float)                    # (T, d)
        for index, layer in enumerate(model.layers):
            mixed = _attention(*_normalized(x, layer.norm1), layer, rope, cache, index)
            x = _grown(x, layer.grow_attention) + _project(mixed, 1.0, layer.out)
            y = _feed_forward(*_normalized(x, layer.norm2), layer)
            x = _grown(x, layer.grow_feed_forward) + y
        return _project(*_normalized(x, model.norm), model.head)


def factors(words: ArrayLike) -> Floats:
    """What scale words multiply with."""
    multiplier, shift = numerics.split_scale(words)
    return multiplier / 2.0 ** shift


def _normalized(x: Floats, columns: Columns | None) -> tuple[Floats, Floats]:
    """INT8 rows (T, d) of the residual, and the factor (T, 1) of the product with each."""
    smooth: Floats | float = ROW_MAX
    scale: Floats | float = 1 << LENGTH_BITS
    largest = _largest(x)
    if columns is not None:
        largest = _largest(x * factors(columns.measure))
        smooth, scale = factors(columns.smooth), factors(columns.length)
    length = np.linalg.norm(x * scale, axis=1, keepdims=True) / largest
    return np.rint(x * smooth / largest), 1 / np.maximum(length, 1.0)


def _largest(x: Floats) -> Floats:
    """Largest magnitude of each row (T, 1), above 0."""
    return np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-12)


def _project(h: ArrayLike, row: Floats | float, layer: Linear,
             words: Ints | None = None) -> Floats:
    """Product, times the factor of each column and that of each row: (T, in) to (T, out)."""
    columns = factors(layer.words if words is None else words)
    return np.asarray(h, dtype=float) @ layer.weight.astype(float) * columns * row


def _int8(x: Floats) -> Ints:
    return np.clip(np.rint(x), -INT8_MAX - 1, INT8_MAX).astype(np.int64)


def _heads(x: Floats, size: int) -> Floats:
    """(T, heads * hd) to (heads, T, hd)."""
    return x.reshape(len(x), -1, size).transpose(1, 0, 2)


def _rotated(x: Floats, rope: Floats) -> Ints:
    """Rotary embedding of heads (heads, T, hd) with 7 more bits, to INT8."""
    cos, sin = rope[:, 0::2], rope[:, 1::2]                             # (T, hd / 2)
    even, odd = x[..., 0::2], x[..., 1::2]
    y = np.empty_like(x)
    y[..., 0::2] = even * cos - odd * sin
    y[..., 1::2] = odd * cos + even * sin
    return _int8(y / 2.0 ** NARROW_SHIFT)


def _attention(h: Floats, row: Floats, layer: QuantizedLayer, rope: Floats, cache: Cache,
               index: int) -> Ints:
    """Mixed values of all heads, (T, H * hd) INT8."""
    hd = rope.shape[1]
    q = _rotated(_heads(_project(h, row, layer.q), hd), rope)            # (H, T, hd)
    k = _rotated(_heads(_project(h, row, layer.k), hd), rope)            # (K, T, hd)
    v = _int8(_heads(_project(h, row, layer.v), hd))
    group = len(q) // len(k)
    keys, values = (np.repeat(each, group, axis=0).astype(float)        # (H, n, hd)
                    for each in cache.append(index, k, v))
    n, t = keys.shape[1], q.shape[1]
    mask = np.arange(n) <= np.arange(n - t, n)[:, None]                 # (T, n)
    score, mix = (np.repeat(factors(words), group)[:, None, None]
                  for words in (layer.score_words, layer.mix_words))
    scores = np.where(mask, q @ keys.transpose(0, 2, 1) * score, -np.inf)
    power = np.exp2((scores - scores.max(axis=2, keepdims=True)) / (1 << EXP2_FRACTION))
    total = power.sum(axis=2, keepdims=True) * (P_MAX << NARROW_SHIFT)
    mixed = _int8(np.rint(power * P_MAX) @ values * mix / total)        # (H, T, hd)
    return mixed.transpose(1, 0, 2).reshape(t, -1)


def _feed_forward(h: Floats, row: Floats, layer: QuantizedLayer) -> Floats:
    """SwiGLU of INT8 rows: (T, d) in units of the residual."""
    gate = squash = _project(h, row, layer.gate)                        # (T, f)
    if layer.squash_words is not None:
        squash = _project(h, row, layer.gate, layer.squash_words)
    # The exponent is limited where the sigmoid is 0 to the last bit of a float.
    gate = gate / (1 + np.exp(np.minimum(-squash * SIGMOID_UNIT, 700.0)))
    hidden = _project(h, row, layer.up) * gate / 2.0 ** COMBINE_SHIFT
    largest = _largest(hidden)
    magnitude = largest * 2.0 ** (MAGNITUDE_BITS - 31)
    return _project(np.rint(hidden / largest * ROW_MAX), magnitude, layer.down)


def _grown(x: Floats, words: ArrayLike | None) -> Floats:
    """The residual (T, d) in larger units."""
    return x if words is None else x * factors(words)
