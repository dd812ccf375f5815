"""What INT8 costs in principle: an encoder with INT8 operands, and all else in floating point.

Scales, smoothing and grouping are those of the machine; sums, norms, softmax, GELU, residual and
pooling are exact.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.sw.compiler.quantize import INT8_MAX, quantize_weight
from systolith.sw.encoder.quantize import smoothing
from systolith.sw.encoder.scales import EncoderLayerScales, EncoderScales
from systolith.sw.reference import bert
from systolith.sw.reference.bert import BertWeights, EncoderLayerWeights
from systolith.sw.reference.weights import Floats


@dataclass(frozen=True)
class _Layer:
    """``qkv``: weights (d, H * hd), rounded, times what rows were divided by. ``groups``: columns,
    then weights of either product."""

    layer: EncoderLayerWeights
    scales: EncoderLayerScales
    smooth: Floats
    qkv: tuple[Floats, ...]
    out: Floats
    inner: Floats
    groups: tuple[tuple[NDArray[np.int64], Floats, Floats], ...]


class SimulatedEncoder:
    """An encoder with rounded weights, which rounds what its products take.

    Parameters
    ----------
    weights : BertWeights
    scales : EncoderScales
    """

    def __init__(self, weights: BertWeights, scales: EncoderScales):
        self.weights = weights
        self._layers = [_prepare(layer, scale)
                        for layer, scale in zip(weights.layers, scales.layers, strict=True)]

    def embed_all(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Unit vectors (texts, d) of token ids; rows of all texts go through at once."""
        ends = np.cumsum([len(ids) for ids in texts])
        parts = [slice(end - len(ids), end) for ids, end in zip(texts, ends, strict=True)]
        x: Floats = np.concatenate([bert.embedded(ids, self.weights) for ids in texts])  # (T, d)
        for layer in self._layers:
            x = self._layer(x, layer, parts)
        return np.stack([bert.unit(x[part].mean(axis=0)) for part in parts])

    def _layer(self, x: Floats, each: _Layer, parts: Sequence[slice]) -> Floats:
        layer, scales, epsilon = each.layer, each.scales, self.weights.epsilon
        w, (bq, _, bv, bo) = layer.attention, layer.biases
        h = _rows(x / each.smooth)                                      # (T, d)
        sums = [h @ weight for weight in each.qkv]                      # (T, H * hd) each
        q = _static(sums[0] + bq, scales.q, w.head_dim)
        k, v = (_static(sums[i], scale, w.head_dim) for i, scale in ((1, scales.k), (2, scales.v)))
        mixed = np.concatenate([_attention(q[part], k[part], v[part], w.heads) for part in parts])
        y = x + _static(mixed, scales.o, w.head_dim) @ each.out + bo + bv @ w.wo
        x = bert.layer_norm(y, layer.norm1, epsilon)                    # (T, d)
        h = _rows((x + layer.down_bias) / each.inner)
        bias = layer.up_bias - layer.down_bias @ layer.up
        y = x + layer.down_bias
        for columns, up, down in each.groups:
            y = y + _rows(bert.gelu(h @ up + bias[columns])) @ down
        return bert.layer_norm(y, layer.norm2, epsilon)


def _prepare(layer: EncoderLayerWeights, scales: EncoderLayerScales) -> _Layer:
    w = layer.attention
    smooth = smoothing(scales.columns, w.wq, w.wk, w.wv)                # (d,)
    inner = smoothing(scales.middle_columns, layer.up)                  # (d,)
    units = np.repeat(scales.o / INT8_MAX, w.head_dim)[:, None]         # (H * hd, 1)
    order = np.argsort(scales.gelu, kind="stable")
    groups = [order[i:i + w.width] for i in range(0, len(order), w.width)]
    return _Layer(
        layer, scales, smooth,
        tuple(_columns(weight * smooth[:, None]) for weight in (w.wq, w.wk, w.wv)),
        _columns(w.wo * units) / units, inner,
        tuple((at, _columns(layer.up[:, at] * inner[:, None]), _columns(layer.down[at]))
              for at in groups))


def _attention(q: Floats, k: Floats, v: Floats, heads: int) -> Floats:
    """One text, (T, H * hd) each; the powers have 8 bits."""
    q, k, v = (x.reshape(len(x), heads, -1).transpose(1, 0, 2) for x in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])             # (H, T, T)
    power = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = np.rint(power * 255) / 255 / power.sum(axis=-1, keepdims=True)
    return (p @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)


def _rows(x: Floats) -> Floats:
    """Rounded to 255 steps of each row."""
    unit = np.maximum(np.abs(x).max(axis=-1, keepdims=True), 1e-12) / INT8_MAX
    return np.rint(x / unit) * unit


def _columns(weight: Floats) -> Floats:
    integers, scale = quantize_weight(weight)
    return integers * scale


def _static(x: Floats, scale: Floats, head_dim: int) -> Floats:
    """Rounded to 255 steps of the largest magnitudes (H,) of each head."""
    unit = np.repeat(scale, head_dim) / INT8_MAX
    return np.clip(np.rint(x / unit), -INT8_MAX - 1, INT8_MAX) * unit
