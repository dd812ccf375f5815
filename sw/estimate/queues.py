"""The command queues: words that the host pushes while the engines run.

The driver of the simulator fills the queues before the start. Then it reads the status, reads
QUEUE_SPACE, pushes what has room, a word a cycle, MOVE first, and starts over.
"""
from collections.abc import Mapping

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, Engine

#: Cycle in which the last word pushed before the start can be taken.
LAST_BEFORE = 0

#: Cycle in which the host samples QUEUE_SPACE first; cycle 0 is the first with RUN.
FIRST_SAMPLE = 6

#: Cycles from a sample to that in which the first word pushed after it leaves the queue.
PUSH = 6

#: Cycles from the last word of a round to the next round's sample, with the read of the status.
ROUND = 9


class Queues:
    """When each command word can be taken by its sequencer.

    Parameters
    ----------
    config : Config
    words : mapping of Engine to int
        Words of each stream.
    """

    def __init__(self, config: Config, words: Mapping[Engine, int]):
        self._depth, self._words = config.queue_depth, words
        #: Cycle from which each word pushed so far can be taken.
        self.available: dict[Engine, list[int]] = {engine: [] for engine in ENGINES}
        before = sum(min(count, self._depth) for count in words.values())
        self._push(LAST_BEFORE - before + 1, dict.fromkeys(ENGINES, self._depth))

    @property
    def complete(self) -> bool:
        """Whether all words have been pushed."""
        return all(len(self.available[engine]) == self._words[engine] for engine in ENGINES)

    def sample(self, time: int, taken: Mapping[Engine, int]) -> int:
        """The host reads QUEUE_SPACE in cycle ``time`` and pushes; the cycle of its next sample.

        Parameters
        ----------
        taken : mapping of Engine to int
            Words that each sequencer took before that cycle.
        """
        room = {engine: self._depth - len(pushed) + taken[engine]
                for engine, pushed in self.available.items()}
        return self._push(time + PUSH, room) - PUSH + ROUND

    def _push(self, cycle: int, room: Mapping[Engine, int]) -> int:
        """Push what there is room for, the first word for ``cycle``; the cycle after the last."""
        for engine, pushed in self.available.items():
            count = min(room[engine], self._words[engine] - len(pushed))
            pushed.extend(range(cycle, cycle + count))
            cycle += count
        return cycle
