"""A Llama decoder in NumPy, top to bottom. T positions, d width, f feed-forward, V vocabulary."""
from collections.abc import Sequence

import numpy as np

from systolith.sw.reference.attention import attention
from systolith.sw.reference.weights import Floats, LayerWeights, LlamaWeights


def rms_norm(x: Floats, gain: Floats, epsilon: float) -> Floats:
    """``x`` (T, d) over its root mean square, times ``gain`` (d,): (T, d)."""
    return normalized(x, epsilon) * gain                          # (T, d)


def normalized(x: Floats, epsilon: float) -> Floats:
    """``x`` (T, d) over its root mean square: (T, d)."""
    mean_square = np.mean(x * x, axis=-1, keepdims=True)          # (T, 1)
    return x / np.sqrt(mean_square + epsilon)                     # (T, d)


def feed_forward(h: Floats, layer: LayerWeights) -> Floats:
    """SwiGLU of ``h`` (T, d): (T, d)."""
    gate = h @ layer.gate                                         # (T, f)
    gate = gate / (1 + np.exp(-gate))                             # (T, f)
    return (gate * (h @ layer.up)) @ layer.down                   # (T, d)


def layer_forward(x: Floats, layer: LayerWeights, epsilon: float) -> Floats:
    """One decoder layer: residual ``x`` (T, d) to the next residual (T, d)."""
    h = rms_norm(x, layer.norm1, epsilon)                         # (T, d)
    x = x + attention(h, layer.attention)                         # (T, d)
    h = rms_norm(x, layer.norm2, epsilon)                         # (T, d)
    return x + feed_forward(h, layer)                             # (T, d)


def layer_input(ids: Sequence[int], index: int, weights: LlamaWeights) -> tuple[Floats, Floats]:
    """What attention of layer ``index`` gets for tokens ``ids`` (T,).

    Returns
    -------
    x, h : (T, d) float64
        The residual, and the residual normalized.
    """
    x = weights.embedding[list(ids)]                              # (T, d)
    for layer in weights.layers[:index]:
        x = layer_forward(x, layer, weights.epsilon)              # (T, d)
    return x, rms_norm(x, weights.layers[index].norm1, weights.epsilon)


def forward(ids: Sequence[int], weights: LlamaWeights) -> Floats:
    """Logits (T, V) of tokens ``ids`` (T,)."""
    x = weights.embedding[list(ids)]                              # (T, d)
    for layer in weights.layers:
        x = layer_forward(x, layer, weights.epsilon)              # (T, d)
    return rms_norm(x, weights.norm, weights.epsilon) @ weights.head  # (T, V)
