"""Magnitudes within a head evened out, so that one static scale a head suits all its elements.

What a query loses its key gains, and what a value loses the output projection gains: the function
stays. The same between norms and linear layers is in Xiao et al., "SmoothQuant" (2023).
"""
import dataclasses
from collections.abc import Sequence

import numpy as np

from systolith.sw.reference.attention import attention_steps
from systolith.sw.reference.llama import layer_forward, rms_norm
from systolith.sw.reference.weights import AttentionWeights, Floats, LlamaWeights


def balanced(weights: LlamaWeights, samples: Sequence[Sequence[int]]) -> LlamaWeights:
    """The same function with equal magnitudes within each head, as the samples show them.

    Parameters
    ----------
    weights : LlamaWeights
        With a rotary embedding.
    samples : sequence of token ids
    """
    xs, layers = [weights.embedding[list(ids)] for ids in samples], []
    for layer in weights.layers:
        hs = [rms_norm(x, layer.norm1, weights.epsilon) for x in xs]
        layers.append(dataclasses.replace(layer, attention=_balanced(layer.attention, hs)))
        xs = [layer_forward(x, layer, weights.epsilon) for x in xs]
    return dataclasses.replace(weights, layers=tuple(layers))


def _balanced(attention: AttentionWeights, hs: Sequence[Floats]) -> AttentionWeights:
    w = attention.neighbours()
    steps = [attention_steps(h, w) for h in hs]
    q, k, v = (np.max([np.abs(step[name]).max(axis=1) for step in steps], axis=0)
               for name in "qkv")                                       # (heads, hd) each
    q = q.reshape(w.kv_heads, w.group, w.head_dim).max(axis=1)          # (kv_heads, hd)
    # Both elements of a rotary pair turn into each other, so they share a factor.
    keys = np.sqrt(_ratio(_pairs(k), _pairs(q)))                        # (kv_heads, hd)
    values = _ratio(v, v.max(axis=1, keepdims=True))                    # (kv_heads, hd)
    return dataclasses.replace(
        w, wq=w.wq * _of_queries(keys, w), wk=w.wk / keys.ravel(), wv=w.wv / values.ravel(),
        wo=w.wo * _of_queries(values, w)[:, None])


def _pairs(magnitudes: Floats) -> Floats:
    """The larger of each two neighbours, for both: (kv_heads, hd)."""
    heads, size = magnitudes.shape
    return np.repeat(magnitudes.reshape(heads, size // 2, 2).max(axis=2), 2, axis=1)


def _ratio(a: Floats, b: Floats) -> Floats:
    """``a / b``, 1 where either is zero."""
    usable = (a > 0) & (b > 0)
    return np.divide(a, b, out=np.ones_like(a), where=usable)


def _of_queries(factors: Floats, w: AttentionWeights) -> Floats:
    """Factors (kv_heads, hd) of key and value heads as those of query heads: (heads * hd,)."""
    return np.repeat(factors, w.group, axis=0).ravel()
