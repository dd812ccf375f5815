"""From a float layer and static scales to the integers of the machine."""
import numpy as np
from numpy.typing import ArrayLike

from systolith.sw.compiler.calibrate import Calibration
from systolith.sw.compiler.errors import CompileError
from systolith.sw.reference import numerics
from systolith.sw.reference.attention import Projection, QuantizedAttention
from systolith.sw.reference.numerics import COMBINE_SHIFT, NARROW_SHIFT, Ints
from systolith.sw.reference.softmax import LOG2_UNITS
from systolith.sw.reference.weights import AttentionWeights, Floats

#: Largest magnitude of a symmetric INT8 value. -128 is left out, so that negation is exact.
INT8_MAX = 127
INT16_MAX = 32767


def scale_word_of(factor: ArrayLike) -> Ints:
    """The scale words nearest to positive factors; 0 gives the scale zero.

    The multiplier is normalized to [2**15, 2**16), so the relative error is at most ``2**-16``.

    Raises
    ------
    CompileError
        When a factor is outside ``2**-48`` to ``2**16``, not finite or negative.
    """
    factor = np.asarray(factor, dtype=np.float64)
    if not np.all(np.isfinite(factor)) or np.any(factor < 0):
        raise CompileError(f"a scale must be a finite number of at least 0, not {factor.min()}")
    mantissa, exponent = np.frexp(factor)                       # mantissa in [0.5, 1)
    multiplier = np.rint(mantissa * (1 << 16)).astype(np.int64)
    carry = multiplier == 1 << 16
    multiplier = np.where(carry, 1 << 15, multiplier)
    shift = 16 - exponent - carry
    bad = (multiplier > 0) & ((shift < 0) | (shift > 63))
    if np.any(bad):
        raise CompileError(f"scale {factor[bad].flat[0]:g} is outside 2**-48 to 2**16, which a "
                           "scale word holds; check the calibration inputs")
    return numerics.scale_word(multiplier, np.where(multiplier > 0, shift, 0))


def quantize_weight(weight: Floats) -> tuple[Ints, Floats]:
    """Symmetric INT8 of each output channel: (in, out) to INT8 (in, out) and scales (out,).

    A channel of zeros, as pruning leaves it, gets the largest scale of the others, so that what is
    computed of its scale is in no other range; 1 where there are no others.
    """
    largest = np.abs(weight).max(axis=0)                        # (out,)
    scale = np.where(largest > 0, largest, largest.max() or INT8_MAX) / INT8_MAX
    return np.rint(weight / scale).astype(np.int64), scale


def column_divisors(magnitudes: Floats, exponent: float, *weights: Floats) -> Floats:
    """Divisors (n,) of the columns of a product's left side: they take from columns of large
    magnitude and give to the weights (Xiao et al., SmoothQuant, 2023). The largest is 1.

    Parameters
    ----------
    magnitudes : (n,)
        Of the columns.
    exponent : float
        How much of the magnitudes goes to the weights, 0 to 1.
    *weights : (n, out)
        What the columns multiply.
    """
    rows = np.max([np.abs(weight).max(axis=1) for weight in weights], axis=0)       # (n,)
    smooth = np.maximum(magnitudes, 1e-6) ** exponent / np.maximum(rows, 1e-6) ** (1 - exponent)
    return smooth / smooth.max()


def quantize(x: Floats, scale: float, largest: int) -> Ints:
    """``x / scale`` to the nearest integer, ties to even, clamped to ``-largest .. largest``."""
    return np.clip(np.rint(np.asarray(x, dtype=np.float64) / scale), -largest, largest).astype(
        np.int64)


def quantize_attention(weights: AttentionWeights, scales: Calibration) -> QuantizedAttention:
    """The integer layer.

    Every head of Q, K, V and of the mixed values has a scale of its own. Those of Q and K meet in
    the factor of the scores; that of V in the factor of the mixed values; and those of the mixed
    values are folded into the rows of ``wo`` before it is quantized.
    """
    w = weights.neighbours()
    units = np.sqrt(w.head_dim)
    extra = 1 << NARROW_SHIFT if w.cos is not None else 1
    q = [_project(w.wq, w.bq, head, w.head_dim, scales.h, scales.q[head] / extra)
         for head in range(w.heads)]
    k = [_project(w.wk, w.bk, head, w.head_dim, scales.h, scales.k[head] / extra)
         for head in range(w.kv_heads)]
    v = [_project(w.wv, w.bv, head, w.head_dim, scales.h, scales.v[head])
         for head in range(w.kv_heads)]
    wo = w.wo * np.repeat(scales.o, w.head_dim)[:, None]
    kv = np.arange(w.heads) // w.group
    return QuantizedAttention(
        q=tuple(q), k=tuple(k), v=tuple(v), out=_projection(wo, w.bo, 1.0, scales.x),
        score_words=scale_word_of(scales.q * scales.k[kv] / units * LOG2_UNITS),
        mix_words=scale_word_of(scales.v[kv] / scales.o * (1 << NARROW_SHIFT)),
        rope=_rope(w), causal=w.causal, h_scale=scales.h, x_scale=scales.x)


def _project(weight: Floats, bias: Floats | None, head: int, size: int, scale_in: float,
             scale_out: float) -> Projection:
    columns = slice(head * size, (head + 1) * size)
    return _projection(weight[:, columns], None if bias is None else bias[columns],
                       scale_in, scale_out)


def _projection(weight: Floats, bias: Floats | None, scale_in: float,
                scale_out: float) -> Projection:
    integers, scale = quantize_weight(weight)
    unit = scale_in * scale                                     # (out,) what 1 of a sum stands for
    whole = None if bias is None else quantize(bias / unit, 1.0, (1 << 31) - 1)
    return Projection(weight=integers, bias=whole, words=scale_word_of(unit / scale_out))


def _rope(w: AttentionWeights) -> Ints | None:
    """cos and sin interleaved, (positions, hd) INT16 Q1.14."""
    if w.cos is None or w.sin is None:
        return None
    pairs = np.stack([w.cos, w.sin], axis=-1)                   # (positions, hd / 2, 2)
    return np.rint(pairs.reshape(len(pairs), -1) * (1 << COMBINE_SHIFT)).astype(np.int64)
