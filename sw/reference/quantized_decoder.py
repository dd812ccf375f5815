"""The parts of a decoder in the integers of the machine: weights, scale words, tables.

Letters as in ``systolith.sw.reference.decoder``, which says what is done with them.
"""
from dataclasses import dataclass

from systolith.sw.reference.numerics import Ints
from systolith.sw.reference.weights import Floats


@dataclass(frozen=True, kw_only=True)
class Linear:
    """``weight`` INT8 (in, out) and the scale ``words`` (out,) of its columns."""

    weight: Ints
    words: Ints


@dataclass(frozen=True, kw_only=True)
class Columns:
    """How a norm takes a residual whose columns have units of their own: scale words (d,).

    Parameters
    ----------
    measure : (d,)
        To the common unit in which the row's largest magnitude is found.
    smooth : (d,)
        ``ROW_MAX`` times the same: with the reciprocal of that magnitude, the INT8 row.
    length : (d,)
        With the same reciprocal, the elements whose squares are the row's length.
    """

    measure: Ints
    smooth: Ints
    length: Ints


@dataclass(frozen=True, kw_only=True)
class QuantizedLayer:
    """A decoder layer in integers.

    Parameters
    ----------
    q : Linear
        (d, H * hd), to INT8 with 7 more bits, which the rotary embedding takes off.
    k, v : Linear
        (d, K * hd); k like q, v to INT8.
    out : Linear
        (H * hd, d), to units of the residual.
    score_words, mix_words : (K,)
        Scale words of each key and value head: scores to log2 units; ``128 * P @ V`` over the row's
        sum to INT8.
    gate : Linear
        (d, f), to INT16.
    squash_words : (f,), optional
        Scale words that bring the gate into the domain of the sigmoid; None where ``gate`` has it.
    up : Linear
        (d, f), to INT16.
    down : Linear
        (f, d), to units of the residual.
    grow_attention, grow_feed_forward : int or (d,), optional
        Scale words that bring the residual, or each of its columns, to larger units before each
        addition; None where the units stay.
    norm1, norm2 : Columns, optional
        How the norms take the residual's columns; None where these share one unit.
    """

    q: Linear
    k: Linear
    v: Linear
    out: Linear
    score_words: Ints
    mix_words: Ints
    gate: Linear
    squash_words: Ints | None
    up: Linear
    down: Linear
    grow_attention: int | Ints | None
    grow_feed_forward: int | Ints | None
    norm1: Columns | None = None
    norm2: Columns | None = None

    @property
    def kv_heads(self) -> int:
        """Key and value heads."""
        return len(self.score_words)


@dataclass(frozen=True, kw_only=True)
class QuantizedDecoder:
    """A decoder in integers.

    Parameters
    ----------
    embedding : (V, d) INT16
        Rows of the residual.
    layers : tuple of QuantizedLayer
    head : Linear
        (d, V), to INT16 logits.
    rope : (positions, hd) INT16 Q1.14
        cos at even, sin at odd places.
    heads : int
        Query heads of a layer.
    sigmoid : (64, 2)
        Function table, results Q1.14.
    x_scales : tuple of float or (d,) float64
        What one unit stands for in the residual, or in each of its columns, before the first layer
        and after each layer.
    logit_scale : float
        What one unit of a logit stands for.
    norm : Columns, optional
        How the last norm takes the residual's columns; None where these share one unit.
    """

    embedding: Ints
    layers: tuple[QuantizedLayer, ...]
    head: Linear
    rope: Ints
    heads: int
    sigmoid: Ints
    x_scales: tuple[float | Floats, ...]
    logit_scale: float
    norm: Columns | None = None

    @property
    def width(self) -> int:
        """Elements d of a position."""
        return self.embedding.shape[1]

    @property
    def vocabulary(self) -> int:
        """Number of tokens V."""
        return self.embedding.shape[0]

    @property
    def columned(self) -> bool:
        """Whether the residual's columns have units of their own, in all norms."""
        return self.norm is not None

    @property
    def head_dim(self) -> int:
        """Elements hd of a head."""
        return self.rope.shape[1]

    @property
    def kv_heads(self) -> int:
        """Key and value heads of a layer."""
        return self.layers[0].kv_heads

    @property
    def hidden(self) -> int:
        """Elements f of the feed-forward network."""
        return self.layers[0].gate.weight.shape[1]

    @property
    def positions(self) -> int:
        """Positions that the rotary embedding has."""
        return len(self.rope)
