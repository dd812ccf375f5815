"""Static scales of an encoder, from sample texts."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from systolith.sw.compiler.calibrate import check_percentile, check_texts
from systolith.sw.reference import bert
from systolith.sw.reference.bert import BertWeights, LayerSteps
from systolith.sw.reference.weights import Floats

#: Room left for larger inputs than the samples, in the INT16 range of residuals and of what enters
#: GELU, and in the INT8 range of the pooling.
RESIDUAL_HEADROOM, GELU_HEADROOM, POOL_HEADROOM = 1.5, 1.25, 2.0


@dataclass(frozen=True, kw_only=True)
class EncoderLayerScales:
    """Largest magnitudes: ``q``, ``k``, ``v``, ``o`` (heads,) of each head; ``x`` of the residual
    around attention, ``middle`` around the feed-forward network, ``columns`` and
    ``middle_columns`` (d,) of the columns of what enters either; largest input ``gelu`` (f,) of
    each column of the network."""

    q: Floats
    k: Floats
    v: Floats
    o: Floats
    x: float
    middle: float
    columns: Floats
    middle_columns: Floats
    gelu: Floats


@dataclass(frozen=True, kw_only=True)
class EncoderScales:
    """Scales of all layers; ``pool`` (d,): largest magnitudes of each column at the end."""

    layers: tuple[EncoderLayerScales, ...]
    pool: Floats


def calibrate_encoder(weights: BertWeights, samples: Sequence[Sequence[int]],
                      percentile: float = 99.99) -> EncoderScales:
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
    xs = [bert.embedded(ids, weights) for ids in samples]               # each (T, d)
    layers = []
    for layer in weights.layers:
        steps = [bert.encoder_layer(x, layer, weights.epsilon) for x in xs]
        layers.append(_layer(xs, steps, layer.down_bias, percentile))
        xs = [step.x2 for step in steps]
    pool = np.abs(np.concatenate(xs)).max(axis=0)                       # (d,)
    return EncoderScales(layers=tuple(layers), pool=np.maximum(pool, 1e-3 * pool.max()))


def _layer(xs: Sequence[Floats], steps: Sequence[LayerSteps], bias: Floats,
           percentile: float) -> EncoderLayerScales:
    """The machine has the ``bias`` of the network's end in what enters the network."""
    heads = {name: np.array([_percentile([getattr(step, name)[i] for step in steps], percentile)
                             for i in range(len(steps[0].q))]) for name in "qkvo"}
    return EncoderLayerScales(
        **heads, x=_largest([*xs, *(step.y1 for step in steps)]),
        middle=_largest([*(step.x1 for step in steps), *(step.y2 for step in steps)]),
        columns=np.abs(np.concatenate(xs)).max(axis=0),
        middle_columns=np.abs(np.concatenate([step.x1 for step in steps]) + bias).max(axis=0),
        gelu=np.max([step.u.max(axis=0) for step in steps], axis=0))


def _largest(samples: Sequence[Floats]) -> float:
    return max(float(np.abs(sample).max()) for sample in samples) or 1.0


def _percentile(samples: Sequence[Floats], percentile: float) -> float:
    magnitudes = np.abs(np.concatenate([np.ravel(sample) for sample in samples]))
    return float(np.percentile(magnitudes, percentile)) or 1.0
