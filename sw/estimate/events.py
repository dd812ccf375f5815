"""Events in the order of time: what the parts of a machine do to each other, and when.

What registers change at the end of cycle ``t`` is an event of cycle ``t + 1``. In one cycle
registers come first, then the host, then semaphores, then the engines.
"""
import heapq
from collections.abc import Callable
from enum import IntEnum
from itertools import count

Action = Callable[[int], None]


class Phase(IntEnum):
    """Order of the events of a cycle."""

    REGISTERS = 0
    HOST = 1
    GRANTS = 2
    ENGINES = 3


class Events:
    """Actions that wait for their cycle."""

    def __init__(self) -> None:
        self._events: list[tuple[int, Phase, int, Action]] = []
        self._numbers = count()

    def at(self, time: int, phase: Phase, action: Action) -> None:
        """Do something in a cycle, which it gets; after what was asked for before in its phase."""
        heapq.heappush(self._events, (time, phase, next(self._numbers), action))

    def run(self) -> None:
        """Play until nothing is left to do."""
        while self._events:
            time, _, _, action = heapq.heappop(self._events)
            action(time)
