"""The command queues: words that the host pushes while the engines run.

The driver of the simulator fills the queues before the start. Then it reads the status, reads
QUEUE_SPACE, pushes what has room, a word a cycle, MOVE first, and starts over.
"""
from collections.abc import Mapping

from systolith.hw.config import Config
from systolith.hw.isa import Engine

#: Cycle in which the last word pushed before the start can be taken.
LAST_BEFORE = 0

#: Cycle in which the host samples QUEUE_SPACE first; cycle 0 is the first with RUN.
FIRST_SAMPLE = 6

#: Cycles from a sample to that in which the first word pushed after it leaves the queue.
PUSH = 6

#: Cycles from the last word of a round to the next round's sample, with the read of the status.
ROUND = 10

#: Cycles from a read of one core to that of the next.
READ = 5

#: A queue: number of the core, engine.
Key = tuple[int, Engine]


class Queues:
    """When each command word can be taken by its sequencer.

    Parameters
    ----------
    config : Config
    words : mapping of Key to int
        Words of each stream, in the order in which the queues are filled.
    """

    def __init__(self, config: Config, words: Mapping[Key, int]):
        self._depth, self._words = config.queue_depth, words
        #: Cycle from which each word pushed so far can be taken.
        self.available: dict[Key, list[int]] = {key: [] for key in words}
        before = sum(min(count, self._depth) for count in words.values())
        self._push(LAST_BEFORE - before + 1, dict.fromkeys(words, self._depth))

    @property
    def complete(self) -> bool:
        """Whether all words have been pushed."""
        return all(len(pushed) == self._words[key] for key, pushed in self.available.items())

    def sample(self, time: int, taken: Mapping[Key, int]) -> int:
        """The host reads QUEUE_SPACE in cycle ``time`` and pushes; the cycle of its next sample.

        Parameters
        ----------
        taken : mapping of Key to int
            Words that each sequencer took before that cycle.
        """
        room = {key: self._depth - len(pushed) + taken[key]
                for key, pushed in self.available.items()}
        return self._push(time + PUSH, room) - PUSH + ROUND

    def _push(self, cycle: int, room: Mapping[Key, int]) -> int:
        """Push what there is room for, the first word for ``cycle``; the cycle after the last."""
        for key, pushed in self.available.items():
            count = min(room[key], self._words[key] - len(pushed))
            pushed.extend(range(cycle, cycle + count))
            cycle += count
        return cycle
