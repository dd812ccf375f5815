"""A Llama decoder in the integers of the machine, bit for bit, top to bottom.

Letters: T new positions, n positions in the cache, d width, hd elements a head, H query heads, K
key and value heads, f feed-forward, V vocabulary. ``systolith.sw.reference.llama`` is the same
model in floating point.

A row of the residual becomes INT8 with a scale of its own: the row over its largest magnitude. The
norm's gain and the constant factors are in the weights that follow; what is left of the norm, the
largest magnitude over the row's length, is a factor of the rows of the products' results. Where
some columns are far larger than the others, each column of the residual has a unit of its own
(``Columns``).
"""
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from systolith.hw.isa import Output
from systolith.sw.reference import numerics
from systolith.sw.reference.attention import narrowed
from systolith.sw.reference.numerics import Ints
from systolith.sw.reference.quantized_decoder import (
    Columns,
    Linear,
    QuantizedDecoder,
    QuantizedLayer,
)
from systolith.sw.reference.rows import ROW_MAX, Rows, quantized, tensor_word
from systolith.sw.reference.softmax import softmax

#: Bits of a row's largest element when the row's length is computed.
LENGTH_BITS = 9


@dataclass
class Cache:
    """Keys and values of each layer, INT8 (K, n, hd) each; n grows with every call."""

    keys: list[Ints] = field(default_factory=list)
    values: list[Ints] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Positions n that it holds."""
        return self.keys[0].shape[1] if self.keys else 0

    def append(self, index: int, k: Ints, v: Ints) -> tuple[Ints, Ints]:
        """Put ``k``, ``v`` (K, T, hd) after those of layer ``index``; all keys and values."""
        if index == len(self.keys):
            self.keys.append(k[:, :0])
            self.values.append(v[:, :0])
        self.keys[index] = np.concatenate([self.keys[index], k], axis=1)
        self.values[index] = np.concatenate([self.values[index], v], axis=1)
        return self.keys[index], self.values[index]


@dataclass(frozen=True)
class DecoderSteps:
    """``residuals``: INT16 (T, d) before the first and after every layer; ``logits`` INT16 (T, V);
    ``tokens`` (T,): the largest logit's place in each row, the first of equal ones."""

    residuals: tuple[Ints, ...]
    logits: Ints
    tokens: Ints


def decode(ids: Sequence[int], model: QuantizedDecoder, cache: Cache) -> DecoderSteps:
    """Tokens ``ids`` (T,) after those in ``cache``, which grows by T."""
    position = cache.length
    rope = model.rope[position:position + len(ids)]                     # (T, hd)
    x = model.embedding[list(ids)]                                      # (T, d) INT16
    largest = numerics.reduce_absmax(x, True)                           # (T,)
    residuals = [x]
    for index, layer in enumerate(model.layers):
        h = normalized(x, largest, layer.norm1)                         # (T, d) INT8
        mixed = attention(h, layer, rope, cache, index)                 # (T, H * hd) INT8
        y = project(mixed, layer.out)                                   # (T, d) INT32
        x, largest = added(grown(x, layer.grow_attention), y)           # (T, d) INT16
        h = normalized(x, largest, layer.norm2)                         # (T, d) INT8
        y = feed_forward(h, layer, model.sigmoid)                       # (T, d) INT32
        x, largest = added(grown(x, layer.grow_feed_forward), y)        # (T, d) INT16
        residuals.append(x)
    logits = narrowed(project(normalized(x, largest, model.norm), model.head), Output.INT16)
    return DecoderSteps(tuple(residuals), logits, numerics.reduce_index(logits, True))


def normalized(x: Ints, largest: Ints, columns: Columns | None) -> Rows:
    """The residual (T, d) as rows of a product.

    ``largest`` (T,) are the largest magnitudes of its rows, which count where ``columns`` is None.
    """
    smooth: int | Ints = tensor_word(ROW_MAX)
    length: int | Ints = tensor_word(1 << LENGTH_BITS)
    if columns is not None:
        largest = numerics.reduce_absmax(numerics.scale(x, columns.measure), True)  # (T,)
        smooth, length = columns.smooth, columns.length                 # (d,)
    inverse = numerics.reciprocal(largest)[:, None]                     # (T, 1) scale words
    h = numerics.scale(x, numerics.combine_scales(smooth, inverse))
    y = numerics.scale(x, numerics.combine_scales(length, inverse))
    total = numerics.reduce_sum(numerics.square(y), True)               # (T,)
    return Rows(narrowed(h, Output.INT8), numerics.inverse_root(total))


def attention(h: Rows, layer: QuantizedLayer, rope: Ints, cache: Cache, index: int) -> Ints:
    """Mixed values of all heads for rows ``h`` (T, d): (T, H * hd) INT8."""
    hd = rope.shape[1]
    q = rotated(split(project(h, layer.q), hd), rope)                   # (H, T, hd)
    k = rotated(split(project(h, layer.k), hd), rope)                   # (K, T, hd)
    v = narrowed(split(project(h, layer.v), hd), Output.INT8)           # (K, T, hd)
    keys, values = cache.append(index, k, v)                            # (K, n, hd)
    n, t = keys.shape[1], q.shape[1]
    mask = np.arange(n) <= np.arange(n - t, n)[:, None]                 # (T, n)
    group = len(q) // len(keys)
    return np.concatenate([
        attention_head(q[head], keys[head // group], values[head // group], mask,
                       layer.score_words[head // group], layer.mix_words[head // group])
        for head in range(len(q))], axis=1)


def attention_head(q: Ints, keys: Ints, values: Ints, mask: NDArray[np.bool_],
                   score_word: Ints, mix_word: Ints) -> Ints:
    """One head: ``q`` (T, hd), ``keys`` and ``values`` (n, hd) to mixed values (T, hd) INT8."""
    scores = numerics.matmul(q, keys.T)                                 # (T, n) INT32
    p, total = softmax(scores, score_word, mask)                        # (T, n) UINT8, (T,)
    words = numerics.combine_scales(mix_word, numerics.reciprocal(total))
    return narrowed(numerics.scale(numerics.matmul(p, values), words[:, None]), Output.INT8)


def feed_forward(h: Rows, layer: QuantizedLayer, sigmoid: Ints) -> Ints:
    """SwiGLU of rows ``h`` (T, d): (T, d) INT32 in units of the residual."""
    gate = squash = project(h, layer.gate)                              # (T, f)
    if layer.squash_words is not None:
        squash = project(h, Linear(weight=layer.gate.weight, words=layer.squash_words))
    gate = numerics.multiply(gate, numerics.table_linear(squash, sigmoid))
    gate = narrowed(gate, Output.INT16)                                 # (T, f)
    u = numerics.multiply(project(h, layer.up), gate)                   # (T, f) INT32
    inverse = numerics.reciprocal(numerics.reduce_absmax(u, True))      # (T,)
    return project(quantized(narrowed(u, Output.INT16), inverse), layer.down)


def project(h: Rows | Ints, layer: Linear) -> Ints:
    """Product, and scale of each column, times that of each row: (T, in) to (T, out) INT32."""
    if isinstance(h, Rows):
        words = numerics.combine_scales(layer.words, h.words[:, None])  # (T, out)
        return numerics.scale(numerics.matmul(h.values, layer.weight), words)
    return numerics.scale(numerics.matmul(h, layer.weight), layer.words)


def split(x: Ints, size: int) -> Ints:
    """(T, heads * hd) to (heads, T, hd)."""
    return x.reshape(len(x), -1, size).transpose(1, 0, 2)


def rotated(x: Ints, rope: Ints) -> Ints:
    """Rotary embedding of heads (heads, T, hd) with 7 more bits, to INT8."""
    turned = numerics.rounding_shift(numerics.rotate(x, rope), numerics.NARROW_SHIFT)
    return narrowed(turned, Output.INT8)


def grown(x: Ints, words: int | Ints | None) -> Ints:
    """The residual (T, d) in larger units."""
    return x if words is None else narrowed(numerics.scale(x, words), Output.INT16)


def added(x: Ints, y: Ints) -> tuple[Ints, Ints]:
    """The next residual INT16 (T, d), and the largest magnitudes of its rows (T,)."""
    total = numerics.saturate(x + y, 32)
    return narrowed(total, Output.INT16), numerics.reduce_absmax(total, True)
