"""Static activation scales of an attention layer, from sample inputs."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from systolith.sw.compiler.errors import CompileError
from systolith.sw.reference.attention import attention, attention_steps
from systolith.sw.reference.weights import AttentionWeights, Floats

#: Room left in the residual's INT16 range for inputs larger than the samples.
RESIDUAL_HEADROOM = 4.0


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What one integer unit stands for: ``h`` and ``x`` (residual) of the layer, ``q`` and ``o``
    (heads,), ``k`` and ``v`` (kv_heads,) of each head."""

    h: float
    x: float
    q: Floats
    k: Floats
    v: Floats
    o: Floats


def calibrate(weights: AttentionWeights, samples: Sequence[tuple[Floats, Floats]],
              percentile: float = 100.0) -> Calibration:
    """Scales at which the samples just fit.

    Parameters
    ----------
    samples : sequence of (x, h)
        Residuals and normalized inputs, (T, d) each, in floating point.
    percentile : float
        Part of the magnitudes, in percent, that must fit INT8; larger ones saturate. 100 is the
        largest magnitude. The residual always fits, with a factor of ``RESIDUAL_HEADROOM``.

    Raises
    ------
    CompileError
        Without samples, or when a sample does not fit the layer.
    """
    if not samples:
        raise CompileError("calibration needs at least one sample (x, h)")
    check_percentile(percentile)
    for x, h in samples:
        _check_sample(x, h, weights)
    steps = [attention_steps(h, weights) for _, h in samples]
    heads = {name: np.array([_scale([step[name][i] for step in steps], percentile)
                             for i in range(len(steps[0][name]))]) for name in "qkvo"}
    ends = [x for x, _ in samples] + [x + attention(h, weights) for x, h in samples]
    return Calibration(h=_scale([h for _, h in samples], percentile),
                       x=_scale(ends, 100.0) * 127 / 32767 * RESIDUAL_HEADROOM, **heads)


def check_percentile(percentile: float) -> None:
    """Raise CompileError when a part in percent is not above 0 and at most 100."""
    if not 0 < percentile <= 100:
        raise CompileError(f"percentile must be above 0 and at most 100, not {percentile}")


def check_texts(samples: Sequence[Sequence[int]]) -> None:
    """Raise CompileError when there is no sample, or one without tokens."""
    if not samples or not all(samples):
        raise CompileError("calibration needs at least one sample, each of at least one token")


def _scale(samples: Sequence[Floats], percentile: float) -> float:
    """What one unit of INT8 stands for; 1 where all samples are zero."""
    magnitudes = np.abs(np.concatenate([np.ravel(sample) for sample in samples]))
    return float(np.percentile(magnitudes, percentile)) / 127 or 1.0


def _check_sample(x: Floats, h: Floats, weights: AttentionWeights) -> None:
    for name, value in (("x", x), ("h", h)):
        if np.ndim(value) != 2 or np.shape(value)[1] != weights.width or not len(value):
            raise CompileError(f"calibration sample {name} has shape {np.shape(value)}, "
                               f"but the layer needs (T, {weights.width})")
        if not np.all(np.isfinite(value)):
            raise CompileError(f"calibration sample {name} holds a value that is no finite number")
    if len(x) != len(h):
        raise CompileError(f"calibration sample x has {len(x)} positions, but h has {len(h)}")
    if weights.cos is not None and len(h) > len(weights.cos):
        raise CompileError(f"calibration sample h has {len(h)} positions, but the rotary embedding "
                           f"has {len(weights.cos)}")
