"""A BERT sentence encoder in the integers of the machine, bit for bit, top to bottom.

Letters: T positions, d width, hd elements a head, H heads, f feed-forward, g columns of one of its
groups, V vocabulary. ``systolith.sw.reference.bert`` is the same model in floating point.

Three biases are nowhere: that of the keys adds the same to all scores of a row, which softmax takes
away; that of the values comes out of attention as it went in, so it is in the output's bias; and
that of the feed-forward network's end is in the norm before it, for that is what it is added to.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from systolith.hw.isa import Output
from systolith.sw.reference import numerics
from systolith.sw.reference.attention import Projection, mix, narrowed, project
from systolith.sw.reference.numerics import Ints
from systolith.sw.reference.rows import Rows, quantized, smoothed
from systolith.sw.reference.softmax import softmax

#: Weight of the upper bytes of a position: its INT16 is ``POSITION_HIGH * high + low``.
POSITION_HIGH = 64

#: Largest magnitude of the pooled row, and of the embedding: 1.0 would be 2**15.
POOL_MAX, UNIT_BITS = 32767, 15


@dataclass(frozen=True, kw_only=True)
class QuantizedNorm:
    """A layer norm: scale ``words`` (d,) of gain over unit; ``bias`` (d,) in units of the result.
    ``smooth`` and ``measure`` (d,): scale words of its columns where it becomes INT8."""

    words: Ints
    bias: Ints
    smooth: Ints
    measure: Ints


@dataclass(frozen=True, kw_only=True)
class Biased:
    """``weight`` INT8 (in, out), scale ``words`` (out,), and ``bias`` INT16 (out,) that is added
    after the scale."""

    weight: Ints
    words: Ints
    bias: Ints


@dataclass(frozen=True, kw_only=True)
class Group:
    """Columns of the feed-forward network: ``up`` (d, g) to INT16 in the units of the table,
    ``down`` (g, d) to units of the residual; ``gelu`` (64, 2) function table: Q1.14 probability
    that a normal variable is below the input."""

    up: Biased
    down: Projection
    gelu: Ints


@dataclass(frozen=True, kw_only=True)
class QuantizedEncoderLayer:
    """An encoder layer in integers.

    Parameters
    ----------
    q : Biased
        (d, H * hd), to INT8 with 7 more bits.
    k, v : Projection
        (d, H * hd), to INT8, without bias.
    out : Projection
        (H * hd, d), to units of the residual.
    score_words, mix_words : (H,)
        Scale words: scores to log2 units; ``128 * P @ V`` over the row's sum to INT8.
    norm1, norm2 : QuantizedNorm
    groups : tuple of Group
        The feed-forward network, whose hidden rows are quantized group by group.
    """

    q: Biased
    k: Projection
    v: Projection
    out: Projection
    score_words: Ints
    mix_words: Ints
    norm1: QuantizedNorm
    groups: tuple[Group, ...]
    norm2: QuantizedNorm


@dataclass(frozen=True, kw_only=True)
class QuantizedEncoder:
    """An encoder in integers.

    Parameters
    ----------
    words : (V, d) INT16
    positions_high, positions_low : (n, d) INT8
    position_word : int
        Scale word of positions to units of ``words``.
    norm : QuantizedNorm
        After the embedding.
    mean_word : int
        Scale word of ``2**15 / d``.
    layers : tuple of QuantizedEncoderLayer
    pool_words : (d,)
        Scale words of the last norm's result to INT8 of each column.
    unpool_words : (d,)
        Scale words of sums of these, over the largest one, to INT16.
    """

    words: Ints
    positions_high: Ints
    positions_low: Ints
    position_word: int
    norm: QuantizedNorm
    mean_word: int
    layers: tuple[QuantizedEncoderLayer, ...]
    pool_words: Ints
    unpool_words: Ints

    @property
    def width(self) -> int:
        """Elements d of a position."""
        return self.words.shape[1]

    @property
    def vocabulary(self) -> int:
        """Number of tokens V."""
        return self.words.shape[0]

    @property
    def positions(self) -> int:
        """Number of positions n."""
        return len(self.positions_high)

    @property
    def heads(self) -> int:
        """Heads of a layer."""
        return len(self.layers[0].score_words)

    @property
    def head_dim(self) -> int:
        """Elements hd of a head."""
        return self.layers[0].q.weight.shape[1] // self.heads

    @property
    def group(self) -> int:
        """Columns of the widest group of the feed-forward network."""
        return max(group.up.weight.shape[1] for layer in self.layers for group in layer.groups)


def embed(ids: Sequence[int], model: QuantizedEncoder) -> Ints:
    """Unit vector INT16 (d,), Q0.15, of the tokens ``ids`` (T,)."""
    return embed_all([ids], model)[0]


def embed_all(texts: Sequence[Sequence[int]], model: QuantizedEncoder) -> Ints:
    """Unit vectors INT16 (texts, d), Q0.15. All but attention and the mean goes row by row, so the
    rows of all texts are computed at once."""
    ends = np.cumsum([len(ids) for ids in texts])                       # (texts,)
    parts = [slice(end - len(ids), end) for ids, end in zip(texts, ends, strict=True)]
    y = np.concatenate([embedded(ids, model) for ids in texts])         # (T, d) of all texts
    norm = model.norm
    for layer in model.layers:
        x = layer_norm(y, norm, model.mean_word)                        # (T, d)
        h = smoothed(x, norm.smooth, norm.measure)                      # (T, d) INT8
        y, norm = encoder_layer(x, h, layer, model.mean_word, parts), layer.norm2
    x = layer_norm(y, norm, model.mean_word)                            # (T, d)
    return np.stack([pooled(x[part], model) for part in parts])       # (texts, d)


def embedded(ids: Sequence[int], model: QuantizedEncoder) -> Ints:
    """Sum of word and position: INT16 (T, d)."""
    rows = slice(len(ids))
    position = POSITION_HIGH * model.positions_high[rows] + model.positions_low[rows]
    total = numerics.scale(position, model.position_word) + model.words[list(ids)]
    return narrowed(numerics.saturate(total, 32), Output.INT16)


def layer_norm(y: Ints, norm: QuantizedNorm, mean_word: int) -> Ints:
    """Rows INT16 (T, d) with mean 0 and the norm's gains, plus its bias."""
    mean = numerics.mean(numerics.reduce_sum(numerics.scale(y, mean_word), True))   # (T,)
    centred = narrowed(numerics.saturate(y - mean[:, None], 32), Output.INT16)
    root = numerics.inverse_root(numerics.reduce_sum(numerics.square(centred), True))
    words = numerics.combine_scales(norm.words, root[:, None])                      # (T, d)
    x = narrowed(numerics.scale(centred, words), Output.INT16)                      # (T, d)
    return narrowed(numerics.saturate(x + norm.bias, 32), Output.INT16)


def encoder_layer(x: Ints, h: Rows, layer: QuantizedEncoderLayer, mean_word: int,
                  parts: Sequence[slice]) -> Ints:
    """One layer but its last norm, over the rows of several texts; ``parts`` says which are whose.
    """
    q, k, v = queries(h, layer.q), values(h, layer.k), values(h, layer.v)
    mixed = np.concatenate([attention(q[part], k[part], v[part], layer) for part in parts])
    y = layer_norm(added(x, project(mixed, layer.out)), layer.norm1, mean_word)     # (T, d)
    h = smoothed(y, layer.norm1.smooth, layer.norm1.measure)
    for group in layer.groups:
        y = added(y, scaled(hidden(h, group), group.down))
    return y


def queries(h: Rows, layer: Biased) -> Ints:
    """Rows ``h`` (T, d) to INT8 (T, H * hd)."""
    q = numerics.saturate(scaled(h, layer) + layer.bias, 32)            # 7 more bits
    return narrowed(numerics.rounding_shift(q, numerics.NARROW_SHIFT), Output.INT8)


def values(h: Rows, layer: Projection) -> Ints:
    """Rows ``h`` (T, d) to keys or values INT8 (T, H * hd)."""
    return narrowed(scaled(h, layer), Output.INT8)


def attention(q: Ints, k: Ints, v: Ints, layer: QuantizedEncoderLayer) -> Ints:
    """All heads of one text: (T, H * hd) INT8 each to mixed values (T, H * hd) INT8."""
    heads = len(layer.score_words)
    everything = np.ones((len(q), len(q)), dtype=bool)
    mixed = []
    for head in range(heads):
        at = slice(head * q.shape[1] // heads, (head + 1) * q.shape[1] // heads)
        scores = numerics.matmul(q[:, at], k[:, at].T)                  # (T, T) INT32
        p, total = softmax(scores, layer.score_words[head], everything)  # (T, T) UINT8, (T,)
        mixed.append(mix(p, total, v[:, at], layer.mix_words[head]))    # (T, hd) INT8
    return np.concatenate(mixed, axis=1)


def hidden(h: Rows, group: Group) -> Rows:
    """GELU of one group of columns: rows ``h`` (T, d) to rows (T, g)."""
    u = numerics.saturate(scaled(h, group.up) + group.up.bias, 32)                  # (T, g)
    u = narrowed(u, Output.INT16)
    u = numerics.multiply(numerics.table_linear(u, group.gelu), u)                  # (T, g)
    inverse = numerics.reciprocal(numerics.reduce_absmax(u, True))                  # (T,)
    return quantized(narrowed(u, Output.INT16), inverse)


def scaled(h: Rows, layer: Biased | Projection) -> Ints:
    """Product, times the scales of columns and rows: (T, in) to (T, out) INT32."""
    words = numerics.combine_scales(layer.words, h.words[:, None])      # (T, out)
    return numerics.scale(numerics.matmul(h.values, layer.weight), words)


def added(x: Ints, y: Ints) -> Ints:
    """The residual INT16 (T, d) plus what a product adds to it."""
    return narrowed(numerics.saturate(x + y, 32), Output.INT16)


def pooled(x: Ints, model: QuantizedEncoder) -> Ints:
    """Mean of the rows ``x`` (T, d), over its length: INT16 (d,), Q0.15."""
    columns = narrowed(numerics.scale(x, model.pool_words), Output.INT8)            # (T, d)
    sums = numerics.matmul(np.ones((1, len(x)), dtype=np.int64), columns)           # (1, d)
    inverse = numerics.reciprocal(numerics.reduce_absmax(sums, True))               # (1,)
    words = numerics.combine_scales(model.unpool_words, inverse[:, None])           # (1, d)
    mean = narrowed(numerics.scale(sums, words), Output.INT16)                      # (1, d)
    root = numerics.inverse_root(numerics.reduce_sum(numerics.square(mean), True))
    word = numerics.combine_scales(numerics.scale_word(1 << 15, 0), root[:, None])
    return narrowed(numerics.scale(mean, word), Output.INT16)[0]
