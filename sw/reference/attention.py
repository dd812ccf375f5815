"""An attention layer twice: in floating point, and in the integers of the machine, bit for bit.

Letters: T positions, d width, hd elements a head, H query heads, K key and value heads, n keys.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from systolith.hw.isa import Output
from systolith.sw.reference import numerics
from systolith.sw.reference.numerics import Ints
from systolith.sw.reference.softmax import softmax
from systolith.sw.reference.weights import AttentionWeights, Floats

# Floating point --------------------------------------------------------------------------------

def attention(h: Floats, weights: AttentionWeights, valid: int | None = None) -> Floats:
    """What attention adds to the residual: ``h`` (T, d) to (T, d).

    ``valid`` is the number of keys that exist; positions after them are padding.
    """
    steps = attention_steps(h, weights, valid)
    return _plus(steps["o"].transpose(1, 0, 2).reshape(len(h), -1) @ weights.wo, weights.bo)


def attention_steps(h: Floats, weights: AttentionWeights,
                    valid: int | None = None) -> dict[str, Floats]:
    """All that attention computes on the way: the calibration looks at these.

    Returns
    -------
    dict
        ``q`` (H, T, hd) and ``k`` (K, T, hd) after the rotary embedding, ``v`` (K, T, hd), ``p``
        (H, T, T), ``o`` (H, T, hd).
    """
    w = weights.neighbours()
    q = _split(_plus(h @ w.wq, w.bq), w.heads)                          # (H, T, hd)
    k = _split(_plus(h @ w.wk, w.bk), w.kv_heads)                       # (K, T, hd)
    v = _split(_plus(h @ w.wv, w.bv), w.kv_heads)                       # (K, T, hd)
    if w.cos is not None and w.sin is not None:
        cos, sin = w.cos[:len(h)], w.sin[:len(h)]                       # (T, hd / 2)
        q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
    keys, values = np.repeat(k, w.group, axis=0), np.repeat(v, w.group, axis=0)  # (H, T, hd)
    scores = q @ keys.transpose(0, 2, 1) / w.head_dim ** 0.5            # (H, T, T)
    scores = np.where(key_mask(len(h), valid, w.causal), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = p / p.sum(axis=-1, keepdims=True)                               # (H, T, T)
    return {"q": q, "k": k, "v": v, "p": p, "o": p @ values}


def key_mask(length: int, valid: int | None, causal: bool) -> NDArray[np.bool_]:
    """(T, T): whether position m sees key n."""
    n = np.arange(length)
    mask = np.broadcast_to(n < (length if valid is None else valid), (length, length))
    return mask & (n <= n[:, None]) if causal else mask


def _plus(x: Floats, bias: Floats | None) -> Floats:
    return x if bias is None else x + bias


def _split(x: Floats, heads: int) -> Floats:
    """(T, heads * hd) to (heads, T, hd)."""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def _rotate(x: Floats, cos: Floats, sin: Floats) -> Floats:
    even, odd = x[..., 0::2], x[..., 1::2]                              # (heads, T, hd / 2)
    y = np.empty_like(x)
    y[..., 0::2] = even * cos - odd * sin
    y[..., 1::2] = odd * cos + even * sin
    return y


# Integers --------------------------------------------------------------------------------------

@dataclass(frozen=True, kw_only=True)
class Projection:
    """A linear layer: ``weight`` INT8 (in, out), ``bias`` INT32 (out,), scale ``words`` (out,)."""

    weight: Ints
    bias: Ints | None
    words: Ints


@dataclass(frozen=True, kw_only=True)
class QuantizedAttention:
    """An attention layer in integers.

    Parameters
    ----------
    q : tuple of Projection
        One a query head, (d, hd). The result is INT8, or has 7 more bits where there is a rotary
        embedding.
    k, v : tuple of Projection
        One a key and value head, (d, hd); k like q, v gives INT8.
    out : Projection
        (H * hd, d); its result has the units of the residual.
    score_words, mix_words : (H,)
        Scale words: scores to log2 units; ``128 * P @ V`` over the row's sum to INT8.
    rope : (positions, hd) INT16 Q1.14, optional
        cos at even, sin at odd places.
    causal : bool
    h_scale, x_scale : float
        What one unit of INT8 ``h`` and INT16 ``x`` and ``y`` stands for.
    """

    q: tuple[Projection, ...]
    k: tuple[Projection, ...]
    v: tuple[Projection, ...]
    out: Projection
    score_words: Ints
    mix_words: Ints
    rope: Ints | None
    causal: bool
    h_scale: float
    x_scale: float

    @property
    def heads(self) -> int:
        """Query heads."""
        return len(self.q)

    @property
    def kv_heads(self) -> int:
        """Key and value heads."""
        return len(self.k)

    @property
    def group(self) -> int:
        """Query heads that share a key and value head."""
        return self.heads // self.kv_heads

    @property
    def width(self) -> int:
        """Elements of a position."""
        return self.q[0].weight.shape[0]

    @property
    def head_dim(self) -> int:
        """Elements of a head."""
        return self.q[0].weight.shape[1]


def integer_attention(h: ArrayLike, x: ArrayLike, layer: QuantizedAttention,
                      valid: int | None = None) -> Ints:
    """``h`` INT8 (T, d), residual ``x`` INT16 (T, d): the next residual INT16 (T, d)."""
    h, x = numerics.as_ints(h), numerics.as_ints(x)
    mask = key_mask(len(h), valid, layer.causal)                        # (T, T)
    rope = None if layer.rope is None else layer.rope[:len(h)]          # (T, hd)
    k = [rotated(project(h, head), rope) for head in layer.k]           # K times (T, hd)
    v = [narrowed(project(h, head), Output.INT8) for head in layer.v]   # K times (T, hd)
    mixed = []
    for head in range(layer.heads):
        q = rotated(project(h, layer.q[head]), rope)                    # (T, hd)
        scores = numerics.matmul(q, k[head // layer.group].T)           # (T, T) INT32
        p, total = softmax(scores, layer.score_words[head], mask)       # (T, T) UINT8, (T,)
        mixed.append(mix(p, total, v[head // layer.group], layer.mix_words[head]))
    y = project(np.concatenate(mixed, axis=1), layer.out)               # (T, d)
    return np.clip(numerics.saturate(y + x, 32), *numerics.RANGES[Output.INT16])


def project(h: Ints, layer: Projection) -> Ints:
    """Product, bias, scale of each column: (T, in) INT8 to (T, out) INT32."""
    sums = numerics.matmul(h, layer.weight)                             # (T, out)
    if layer.bias is not None:
        sums = numerics.saturate(sums + layer.bias, 32)
    return numerics.scale(sums, layer.words)


def rotated(x: Ints, rope: Ints | None) -> Ints:
    """Rotary embedding of ``x`` (T, hd) with 7 more bits, then INT8; without one just INT8."""
    if rope is None:
        return narrowed(x, Output.INT8)
    turned = numerics.rotate(x, rope)
    return narrowed(numerics.rounding_shift(turned, numerics.NARROW_SHIFT), Output.INT8)


def narrowed(x: Ints, output: Output) -> Ints:
    """``x`` saturated to an output range."""
    return np.clip(x, *numerics.RANGES[output])


def mix(p: Ints, total: Ints, v: Ints, word: Ints) -> Ints:
    """``P @ V`` over the rows' sums: ``p`` UINT8 (T, T), ``v`` INT8 (T, hd) to INT8 (T, hd)."""
    words = numerics.combine_scales(word, numerics.reciprocal(total))   # (T,)
    return narrowed(numerics.scale(numerics.matmul(p, v), words[:, None]), Output.INT8)
