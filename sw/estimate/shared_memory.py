"""The external memory that all cores of a chip share."""
import numpy as np

from systolith.sw.estimate.timeline import Ints, Timeline


class SharedMemory:
    """Moves a beat each ``gap`` cycles, of whichever core is first to ask.

    Parameters
    ----------
    gap : float
        Cycles from beat to beat, at least 1.
    """

    def __init__(self, gap: float):
        self.gap = gap
        #: Which of the times at which it can move a beat are taken.
        self.line = Timeline()

    def user(self) -> "MemoryUser":
        """The way of one more core to it."""
        return MemoryUser(self)


class MemoryUser:
    """One core's beats, in order."""

    def __init__(self, memory: SharedMemory):
        self._memory, self._last = memory, -1

    @property
    def gap(self) -> float:
        """Cycles from beat to beat, at least 1."""
        return self._memory.gap

    def place(self, ready: Ints) -> Ints:
        """Cycles in which the memory moves beats: not before they are ready, and in none that it
        has for another core."""
        if not len(ready):
            return ready
        line, gap = self._memory.line, self.gap
        turns = line.place(np.ceil(ready / gap).astype(np.int64), self._last)
        line.mark(turns)
        self._last = int(turns[-1])
        return np.ceil(turns * gap).astype(np.int64)
