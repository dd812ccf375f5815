"""A BERT sentence encoder in floating point, top to bottom (Devlin et al., 2018).

Letters: T positions, d width, hd elements a head, H heads, f feed-forward, V vocabulary.
``systolith.sw.reference.encoder`` is the same model in the integers of the machine.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from systolith.sw.reference.attention import attention_steps
from systolith.sw.reference.weights import AttentionWeights, Floats

#: Coefficients of the error function's approximation 7.1.26 (Abramowitz and Stegun, 1964).
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


@dataclass(frozen=True, kw_only=True)
class Norm:
    """A layer norm: ``gain`` and ``bias`` (d,)."""

    gain: Floats
    bias: Floats


@dataclass(frozen=True, kw_only=True)
class EncoderLayerWeights:
    """An encoder layer: ``attention``, then ``norm1``; ``up`` (d, f) with ``up_bias`` (f,),
    ``down`` (f, d) with ``down_bias`` (d,), then ``norm2``."""

    attention: AttentionWeights
    norm1: Norm
    up: Floats
    up_bias: Floats
    down: Floats
    down_bias: Floats
    norm2: Norm

    @property
    def biases(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Those of queries, keys, values and output of attention; zeros where there is none."""
        w = self.attention
        q, k, v, o = ((np.zeros(weight.shape[1]) if bias is None else bias) for weight, bias in (
            (w.wq, w.bq), (w.wk, w.bk), (w.wv, w.bv), (w.wo, w.bo)))
        return q, k, v, o


@dataclass(frozen=True, kw_only=True)
class BertWeights:
    """An encoder: ``words`` (V, d), ``positions`` (n, d) with the type of the only segment added,
    ``norm``, layers, and the ``epsilon`` of all norms."""

    words: Floats
    positions: Floats
    norm: Norm
    layers: tuple[EncoderLayerWeights, ...]
    epsilon: float

    @property
    def width(self) -> int:
        """Elements d of a position."""
        return self.words.shape[1]


@dataclass(frozen=True)
class LayerSteps:
    """What a layer computes on the way: ``q``, ``k``, ``v``, ``o`` (H, T, hd) without the biases
    that the machine leaves out; sums before the norms ``y1``, ``y2``, results of the norms ``x1``,
    ``x2`` (T, d); before and after GELU ``u``, ``g`` (T, f)."""

    q: Floats
    k: Floats
    v: Floats
    o: Floats
    y1: Floats
    x1: Floats
    u: Floats
    g: Floats
    y2: Floats
    x2: Floats


def embed(ids: Sequence[int], weights: BertWeights) -> Floats:
    """Unit vector (d,) of the tokens ``ids`` (T,): normalized mean of all positions."""
    x = embedded(ids, weights)                                          # (T, d)
    for layer in weights.layers:
        x = encoder_layer(x, layer, weights.epsilon).x2                 # (T, d)
    return unit(x.mean(axis=0))                                         # (d,)


def embedded(ids: Sequence[int], weights: BertWeights) -> Floats:
    """Word and position, normalized: (T, d)."""
    x = weights.words[list(ids)] + weights.positions[:len(ids)]         # (T, d)
    return layer_norm(x, weights.norm, weights.epsilon)


def encoder_layer(x: Floats, layer: EncoderLayerWeights, epsilon: float) -> LayerSteps:
    """One layer: ``x`` (T, d) to the next ``x2`` (T, d)."""
    w, (_, bk, bv, bo) = layer.attention, layer.biases
    steps = attention_steps(x, w)
    o = steps["o"]                                                      # (H, T, hd)
    y1 = x + o.transpose(1, 0, 2).reshape(len(x), -1) @ w.wo + bo     # (T, d)
    x1 = layer_norm(y1, layer.norm1, epsilon)                           # (T, d)
    u = x1 @ layer.up + layer.up_bias                                   # (T, f)
    g = gelu(u)                                                         # (T, f)
    y2 = x1 + g @ layer.down + layer.down_bias                          # (T, d)
    heads = (w.heads, 1, w.head_dim)
    return LayerSteps(
        steps["q"], steps["k"] - bk.reshape(heads), steps["v"] - bv.reshape(heads),
        o - bv.reshape(heads), y1, x1, u, g, y2, layer_norm(y2, layer.norm2, epsilon))


def layer_norm(x: Floats, norm: Norm, epsilon: float) -> Floats:
    """Each row (T, d) with mean 0 and variance 1, times the gain, plus the bias."""
    centred = x - x.mean(axis=-1, keepdims=True)                        # (T, d)
    variance = (centred ** 2).mean(axis=-1, keepdims=True)              # (T, 1)
    return centred / np.sqrt(variance + epsilon) * norm.gain + norm.bias


def normal_distribution(x: Floats) -> Floats:
    """Probability that a normal variable is below ``x``, to 1e-7."""
    x = np.asarray(x, dtype=np.float64)
    t = 1.0 / (1.0 + 0.3275911 * np.abs(x) / np.sqrt(2.0))
    upper = 0.5 * t * np.polyval(_ERF, t) * np.exp(-x ** 2 / 2.0)       # beyond |x|
    return np.where(x < 0, upper, 1.0 - upper)


def gelu(x: Floats) -> Floats:
    """``x`` times the probability that a normal variable is below it."""
    return x * normal_distribution(x)


def unit(x: Floats) -> Floats:
    """A vector over its length."""
    return x / np.sqrt((x ** 2).sum(axis=-1, keepdims=True))
