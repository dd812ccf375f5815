"""A sequencer: fetches the commands of one engine and keeps what happened to each."""
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.hw.config import IN_FLIGHT
from systolith.hw.isa import WORDS, Command, Engine

#: A cycle long before the start, when words are fetched already.
BEFORE = -(1 << 20)


@dataclass
class Record:
    """Cycles in a command's life.

    ``fetched``: it is complete, with a fence where ``fenced``; ``ready``: only its semaphores hold
    it back; ``granted``: they are taken; ``accepted``: the engine takes it; ``end``: of its last
    beat; ``retired``.
    """

    fetched: int
    fenced: bool
    ready: int = -1
    granted: int = -1
    accepted: int = -1
    end: int = -1
    retired: int = -1


class Sequencer:
    """The command at the head of an engine's queue.

    Parameters
    ----------
    engine : Engine
    commands : sequence of Command
    available : list of int
        Cycle from which each word pushed so far can be taken; it grows.

    Attributes
    ----------
    records : list of Record
        Of all commands that have been fetched.
    in_flight : int
        Commands granted and not retired.
    offered : int or None
        Cycle from which the command at the head, granted, is offered to the engine.
    """

    def __init__(self, engine: Engine, commands: Sequence[Command], available: list[int]):
        self.engine, self.commands, self._available = engine, commands, available
        self.records: list[Record] = []
        self.in_flight = 0
        self.offered: int | None = None
        self._size, self._index, self._from = WORDS[engine], 0, BEFORE
        self._times: list[int] = []

    @property
    def command(self) -> Command:
        """The command at the head."""
        return self.commands[self._index]

    @property
    def record(self) -> Record:
        """Its record; it must have been fetched."""
        return self.records[self._index]

    def fetch(self) -> int | None:
        """Take what words there are; the cycle in which the command is complete, when it is now."""
        times = self._times
        if self._index == len(self.commands) or len(times) == self._size:
            return None
        word = self._index * self._size + len(times)
        cycle = times[-1] + 1 if times else self._from
        for available in self._available[word:word + self._size - len(times)]:
            cycle = max(cycle, available)
            times.append(cycle)
            cycle += 1
        if len(times) < self._size:
            return None
        self.records.append(Record(max(0, cycle), bool(self.command.fence)))
        return self.records[-1].fetched

    def taken(self, time: int) -> int:
        """Words taken before cycle ``time``."""
        return self._index * self._size + bisect_left(self._times, time)

    def takes(self, time: int) -> bool:
        """Whether words are taken in this cycle or later, of those that are there."""
        return bool(self._times) and self._times[-1] >= time

    def requests(self, time: int) -> bool:
        """Whether the command asks for its semaphores in this cycle."""
        if len(self.records) == self._index or self.offered is not None:
            return False
        if self.record.fetched > time or self.in_flight == IN_FLIGHT:
            return False
        if self.command.fence and self.in_flight:
            return False
        if self.record.ready < 0:
            self.record.ready = time
        return True

    def grant(self, time: int) -> None:
        """The semaphores are taken."""
        self.record.granted, self.offered = time, time + 1
        self.in_flight += 1

    def accept(self, time: int) -> Command:
        """The engine takes the command; the next is fetched from the following cycle on."""
        command = self.command
        self.record.accepted, self.offered = time, None
        self._index, self._from, self._times = self._index + 1, time + 1, []
        return command
