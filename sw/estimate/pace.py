"""The rate of an external memory: when it moves each beat."""
import numpy as np

from systolith.sw.estimate.timeline import Ints


class Pace:
    """Beats in the order in which they are asked for, at the rate of the memory.

    Parameters
    ----------
    gap : float
        Cycles from beat to beat, at least 1.
    """

    def __init__(self, gap: float):
        self._gap = gap
        self._free = 0.0  # when it can move the next beat

    @property
    def gap(self) -> float:
        """Cycles from beat to beat, at least 1."""
        return self._gap

    def place(self, ready: Ints) -> Ints:
        """Cycles in which it moves beats: not before they are ready, at its rate."""
        if self._gap == 1 or not len(ready):
            return ready
        steps = np.arange(len(ready)) * self._gap
        exact = np.maximum.accumulate(np.maximum(ready, self._free) - steps) + steps
        self._free = float(exact[-1]) + self._gap
        return np.ceil(exact).astype(np.int64)
