"""Static scales of a decoder, from sample texts."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from systolith.sw.compiler.calibrate import check_percentile, check_texts
from systolith.sw.reference.attention import attention_steps
from systolith.sw.reference.llama import normalized
from systolith.sw.reference.weights import Floats, LayerWeights, LlamaWeights

#: Room left for larger inputs than the samples, in the INT16 range of the residual, of the parts of
#: the feed-forward network, and of the logits.
RESIDUAL_HEADROOM, HIDDEN_HEADROOM, LOGIT_HEADROOM = 2.0, 1.5, 2.0


@dataclass(frozen=True, kw_only=True)
class LayerScales:
    """Largest magnitudes: ``q`` and ``o`` (heads,), ``k`` and ``v`` (kv_heads,) of each head;
    ``norm1`` and ``norm2`` (d,) of the columns of what the norms give before their gains;
    ``gate``, ``up`` and their product ``hidden`` (f,), of the columns of the network."""

    q: Floats
    k: Floats
    v: Floats
    o: Floats
    norm1: Floats
    norm2: Floats
    gate: Floats
    up: Floats
    hidden: Floats


@dataclass(frozen=True, kw_only=True)
class DecoderScales:
    """Largest magnitudes of the columns of the residual ``x`` (2 * layers + 1, d), before the first
    layer and after each half of each layer; of what the last ``norm`` (d,) gives before its gain;
    of the logits, and of each layer's parts. ``typical`` (2 * layers + 1,) is the magnitude of the
    residual's median element at each place."""

    x: Floats
    typical: Floats
    norm: Floats
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
    check_texts(samples)
    check_percentile(percentile)
    xs = [weights.embedding[list(ids)] for ids in samples]              # each (T, d)
    # Every token may be looked up, not just those of the samples.
    columns, typical, layers = [np.abs(weights.embedding).max(axis=0)], [_typical(xs)], []
    for layer in weights.layers:
        scales, middle, xs = _layer(xs, layer, weights.epsilon, percentile)
        layers.append(scales)
        columns += [_columns(middle), _columns(xs)]
        typical += [_typical(middle), _typical(xs)]
    hs = [normalized(x, weights.epsilon) for x in xs]
    return DecoderScales(
        x=np.array(columns), typical=np.array(typical), norm=_columns(hs), layers=tuple(layers),
        logits=_largest([h * weights.norm @ weights.head for h in hs]))


def _layer(xs: Sequence[Floats], layer: LayerWeights, epsilon: float,
           percentile: float) -> tuple[LayerScales, list[Floats], list[Floats]]:
    """Magnitudes, and the residuals between the layer's halves and after it."""
    norm1 = [normalized(x, epsilon) for x in xs]
    steps = [attention_steps(h * layer.norm1, layer.attention) for h in norm1]
    heads = {name: np.array([_percentile([step[name][i] for step in steps], percentile)
                             for i in range(len(steps[0][name]))]) for name in "qkvo"}
    middle: list[Floats] = [
        x + step["o"].transpose(1, 0, 2).reshape(len(x), -1) @ layer.attention.wo
        for x, step in zip(xs, steps, strict=True)]
    norm2 = [normalized(x, epsilon) for x in middle]
    gates, ups = ([h * layer.norm2 @ weight for h in norm2] for weight in (layer.gate, layer.up))
    hidden = [gate / (1 + np.exp(-gate)) * up for gate, up in zip(gates, ups, strict=True)]
    scales = LayerScales(**heads, norm1=_columns(norm1), norm2=_columns(norm2),
                         gate=_columns(gates), up=_columns(ups), hidden=_columns(hidden))
    after: list[Floats] = [x + u @ layer.down for x, u in zip(middle, hidden, strict=True)]
    return scales, middle, after


def _columns(samples: Sequence[Floats]) -> Floats:
    """Largest magnitude of each column."""
    return np.abs(np.concatenate(samples)).max(axis=0)


def _typical(xs: Sequence[Floats]) -> float:
    """Magnitude of the median element."""
    return float(np.median(np.abs(np.concatenate(xs)))) or 1.0


def _largest(samples: Sequence[Floats]) -> float:
    return max(float(np.abs(sample).max()) for sample in samples) or 1.0


def _percentile(samples: Sequence[Floats], percentile: float) -> float:
    magnitudes = np.abs(np.concatenate([np.ravel(sample) for sample in samples]))
    return float(np.percentile(magnitudes, percentile)) or 1.0
