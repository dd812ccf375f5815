"""When ports of memories are in use, cycle by cycle."""
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def spaced(ready: Ints, after: int) -> Ints:
    """Cycles of events in order, one a cycle, each as soon as it is ready.

    Parameters
    ----------
    ready : int array (n,)
        First cycle of each.
    after : int
        Cycle of the event before the first.
    """
    steps = np.arange(len(ready))
    return np.maximum.accumulate(np.maximum(ready, after + 1) - steps) + steps


class Timeline:
    """Cycles in which a port is taken by a user that goes before all others."""

    def __init__(self):
        self._taken = np.zeros(1 << 12, dtype=bool)

    def _reach(self, cycle: int) -> None:
        if cycle >= len(self._taken):
            grown = np.zeros(max(cycle + 1, 2 * len(self._taken)), dtype=bool)
            grown[:len(self._taken)] = self._taken
            self._taken = grown

    def mark(self, cycles: Ints) -> None:
        """Take the port in these cycles, which increase."""
        if len(cycles):
            self._reach(int(cycles[-1]))
            self._taken[cycles] = True

    def place(self, ready: Ints, after: int) -> Ints:
        """Cycles in which another user gets the port, as far as the marks are known now.

        Parameters
        ----------
        ready : int array (n,)
            First cycle in which each access can be made.
        after : int
            Cycle of the access before; there is one access a cycle at most, in order.
        """
        wish = spaced(ready, after)
        self._reach(int(wish[-1]))
        if not self._taken[wish].any():
            return wish
        order, first, span = np.arange(len(wish)), int(wish[0]), 2 * int(wish[-1] - wish[0] + 64)
        while True:
            self._reach(first + span)
            free = np.flatnonzero(~self._taken[first:first + span]) + first
            rank = np.maximum.accumulate(np.searchsorted(free, wish) - order) + order
            if rank[-1] < len(free):
                return free[rank]
            span *= 2
