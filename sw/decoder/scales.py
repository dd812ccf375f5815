"""Static scales of a decoder, from sample texts."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from systolith.sw.compiler.errors import CompileError
from systolith.sw.reference.attention import attention_steps
from systolith.sw.reference.llama import rms_norm
from systolith.sw.reference.weights import Floats, LayerWeights, LlamaWeights

#: Room left for larger inputs than the samples, in the INT16 range of the residual, of the parts of
#: the feed-forward network, and of the logits.
RESIDUAL_HEADROOM, HIDDEN_HEADROOM, LOGIT_HEADROOM = 2.0, 1.5, 2.0


@dataclass(frozen=True, kw_only=True)
class LayerScales:
    """Largest magnitudes: ``q`` and ``o`` (heads,), ``k`` and ``v`` (kv_heads,) of each head;
    ``gate``, ``up`` and their product ``hidden``."""

    q: Floats
    k: Floats
    v: Floats
    o: Floats
    gate: float
    up: float
    hidden: float


@dataclass(frozen=True, kw_only=True)
class DecoderScales:
    """Largest magnitudes of the residual ``x`` before the first layer and after each half of each
    layer (2 * layers + 1), of the logits, and of each layer's parts."""

    x: tuple[float, ...]
    logits: float
    layers: tuple[LayerScales, ...]


def calibrate_decoder(weights: LlamaWeights, samples: Sequence[Sequence[int]],
                      percentile: float = 100.0) -> DecoderScales:
    """Magnitudes that a float run of the samples shows.

    Parameters
    ----------
    samples : sequence of token ids
    percentile : float
        Part of the magnitudes, in percent, that must fit INT8; larger ones saturate. INT16 tensors
        always fit.

    Raises
    ------
    CompileError
        Without samples, or with a percentile outside its limits.
    """
    if not samples or not all(samples):
        raise CompileError("calibration needs at least one sample, each of at least one token")
    if not 0 < percentile <= 100:
        raise CompileError(f"percentile must be above 0 and at most 100, not {percentile}")
    xs = [weights.embedding[list(ids)] for ids in samples]              # each (T, d)
    # Every token may be looked up, not just those of the samples.
    largest, layers = [float(np.abs(weights.embedding).max())], []
    for layer in weights.layers:
        scales, xs, middle = _layer(xs, layer, weights.epsilon, percentile)
        layers.append(scales)
        largest += [middle, _largest(xs)]
    logits = _largest([rms_norm(x, weights.norm, weights.epsilon) @ weights.head for x in xs])
    return DecoderScales(x=tuple(largest), logits=logits, layers=tuple(layers))


def _layer(xs: Sequence[Floats], layer: LayerWeights, epsilon: float,
           percentile: float) -> tuple[LayerScales, list[Floats], float]:
    """Magnitudes, the residuals after the layer, and the largest between its halves."""
    hs = [rms_norm(x, layer.norm1, epsilon) for x in xs]
    steps = [attention_steps(h, layer.attention) for h in hs]
    heads = {name: np.array([_percentile([step[name][i] for step in steps], percentile)
                             for i in range(len(steps[0][name]))]) for name in "qkvo"}
    xs = [x + step["o"].transpose(1, 0, 2).reshape(len(x), -1) @ layer.attention.wo
          for x, step in zip(xs, steps, strict=True)]
    hs = [rms_norm(x, layer.norm2, epsilon) for x in xs]
    gates, ups = [h @ layer.gate for h in hs], [h @ layer.up for h in hs]
    hidden = [gate / (1 + np.exp(-gate)) * up for gate, up in zip(gates, ups, strict=True)]
    scales = LayerScales(**heads, gate=_largest(gates), up=_largest(ups), hidden=_largest(hidden))
    after = [x + u @ layer.down for x, u in zip(xs, hidden, strict=True)]
    return scales, after, _largest(xs)


def _largest(samples: Sequence[Floats]) -> float:
    return max(float(np.abs(sample).max()) for sample in samples) or 1.0


def _percentile(samples: Sequence[Floats], percentile: float) -> float:
    magnitudes = np.abs(np.concatenate([np.ravel(sample) for sample in samples]))
    return float(np.percentile(magnitudes, percentile)) or 1.0
