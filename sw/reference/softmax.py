"""Softmax as the vector unit does it: exact row maximum, table power of two, sum before rounding.

The division by the row's sum never touches the scores: the reciprocal of the sum becomes a factor
of the drain of ``P @ V``.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray

from systolith.hw.isa import Output
from systolith.sw.reference import numerics
from systolith.sw.reference.numerics import Ints

#: Units of the score scale: score times log2(e), with the fraction bits of EXP2.
LOG2_UNITS = float(np.log2(np.e)) * (1 << numerics.EXP2_FRACTION)


def powers(scores: ArrayLike, word: ArrayLike, valid: NDArray[np.bool_]) -> Ints:
    """``exp(score - row maximum)`` in units of ``1 / EXP2_ONE``.

    Parameters
    ----------
    scores : (T, n) INT32
    word : scale word
        From scores to :data:`LOG2_UNITS`.
    valid : (T, n)
        What enters the maximum.

    Returns
    -------
    (T, n), 0 to ``EXP2_ONE``
        Also where not valid: the caller masks.
    """
    maximum = numerics.reduce_max(scores, valid)                                # (T,)
    below = numerics.saturate(numerics.as_ints(scores) - maximum[:, None], 32)  # (T, n)
    return numerics.table_exp2(numerics.scale(below, word), numerics.exp2_table())


def softmax(scores: ArrayLike, word: ArrayLike, valid: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Probabilities of every row, undivided.

    Returns
    -------
    p : (T, n) UINT8
        ``255`` is the row's maximum; 0 where not valid.
    total : (T,)
        Sum of the row's powers before rounding: the probability is ``p * 128 / total``.
    """
    power = powers(scores, word, valid)                                         # (T, n)
    total = numerics.reduce_sum(power, valid)                                   # (T,)
    p = numerics.rounding_shift(power, numerics.NARROW_SHIFT)                   # (T, n)
    p = np.clip(p, *numerics.RANGES[Output.UINT8])
    return np.where(valid, p, 0), total
