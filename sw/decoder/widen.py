"""A narrow decoder written as a wider one that computes the same: each wide element is rounded on
its own, so the rounding errors of the copies are averaged.

Splitting channels to round them more finely is in Zhao et al., "Improving Neural Network
Quantization without Retraining using Outlier Channel Splitting" (2019); rotations that go through
the norms are in Ashkboos et al., "QuaRot" (2024).
"""
import dataclasses
from collections.abc import Iterable

import numpy as np

from systolith.sw.reference.weights import AttentionWeights, Floats, LayerWeights, LlamaWeights

#: Copies of a head's elements for one of the residual: their static scales are the coarsest.
HEAD_COPIES = 2

#: Copies of the hidden elements are smaller than the first by up to this factor, for equal ones
#: would be rounded alike.
SMALLEST = 0.6


def widened(weights: LlamaWeights, copies: int, seed: int) -> LlamaWeights:
    """The same function with ``copies`` times the width.

    The residual ``x`` becomes ``[x @ R1, x @ R2, ...]`` with random orthogonal R: its root mean
    square stays, and gains of norms go into the weights behind. A head's queries and keys are
    repeated, :data:`HEAD_COPIES` times as often, each pair of the rotary embedding turned by an
    angle, which scores do not see; values with an orthogonal matrix, which the output projection
    takes back. Hidden elements are repeated at other magnitudes.

    Parameters
    ----------
    weights : LlamaWeights
        Without biases, with a rotary embedding.
    copies : int
        At least 1; 1 turns the residual only.
    seed : int
        Of the random matrices.
    """
    rng = np.random.default_rng(seed)
    width = len(weights.norm)
    turns = [_orthogonal(width, rng) for _ in range(copies)]
    ones = np.ones(copies * width)
    layers = tuple(_layer(layer, turns, copies, rng) for layer in weights.layers)
    return dataclasses.replace(
        weights, embedding=_out(weights.embedding, turns), layers=layers, norm=ones,
        head=_in(weights.head * weights.norm[:, None], turns))


def _layer(layer: LayerWeights, turns: list[Floats], copies: int,
           rng: np.random.Generator) -> LayerWeights:
    gain1, gain2 = layer.norm1[:, None], layer.norm2[:, None]
    w = _heads(layer.attention.neighbours(), HEAD_COPIES * copies, rng)
    w = dataclasses.replace(w, wq=_in(w.wq * gain1, turns), wk=_in(w.wk * gain1, turns),
                            wv=_in(w.wv * gain1, turns), wo=_out(w.wo, turns))
    sizes = rng.uniform(SMALLEST, 1.0, (copies, layer.up.shape[1]))     # (copies, f)
    up = np.concatenate([layer.up * size for size in sizes], axis=1)
    down = np.concatenate([layer.down / size[:, None] for size in sizes]) / copies
    ones = np.ones(len(turns) * len(gain1))
    return LayerWeights(norm1=ones, attention=w, norm2=ones,
                        gate=_in(np.tile(layer.gate, copies) * gain2, turns),
                        up=_in(up * gain2, turns), down=_out(down, turns))


def _heads(w: AttentionWeights, copies: int, rng: np.random.Generator) -> AttentionWeights:
    """The layer with heads of ``copies`` times as many elements."""
    size = w.head_dim
    turns = [[_turned_pairs(size, rng) for _ in range(copies)] for _ in range(w.kv_heads)]
    mixes = [[_orthogonal(size, rng) for _ in range(copies)] for _ in range(w.kv_heads)]

    def of_head(weight: Floats, each: list[list[Floats]]) -> Floats:
        heads = np.split(weight, weight.shape[1] // size, axis=1)       # each (d, hd)
        group = len(heads) // w.kv_heads
        return np.concatenate([_out(head, each[i // group]) for i, head in enumerate(heads)],
                              axis=1)

    assert w.cos is not None
    assert w.sin is not None
    # Scores are divided by the root of the longer head.
    wq = of_head(w.wq, turns) / np.sqrt(copies)
    return dataclasses.replace(
        w, wq=wq, wk=of_head(w.wk, turns), wv=of_head(w.wv, mixes),
        wo=of_head(w.wo.T, mixes).T / copies, head_dim=size * copies,
        cos=np.tile(w.cos, copies), sin=np.tile(w.sin, copies))


def _orthogonal(size: int, rng: np.random.Generator) -> Floats:
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


def _turned_pairs(size: int, rng: np.random.Generator) -> Floats:
    """(size, size): turns elements 2i and 2i + 1 by one angle each."""
    turn = np.zeros((size, size))
    for i, angle in zip(range(0, size, 2), rng.uniform(0, 2 * np.pi, size // 2), strict=True):
        cos, sin = np.cos(angle), np.sin(angle)
        turn[i:i + 2, i:i + 2] = [[cos, -sin], [sin, cos]]
    return turn


def _out(weight: Floats, turns: Iterable[Floats]) -> Floats:
    """(in, d) to (in, copies * d): writes all copies."""
    return np.concatenate([weight @ turn for turn in turns], axis=1)


def _in(weight: Floats, turns: list[Floats]) -> Floats:
    """(d, out) to (copies * d, out): reads the mean of all copies."""
    return np.concatenate([turn.T @ weight for turn in turns]) / len(turns)
