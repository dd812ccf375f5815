"""The ports of the memories that two users share, and who waits for whom.

The array reads accumulators before the vector unit, half by half; array and vector unit go before
the mover everywhere.
"""
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Load, Move, Remote, Send
from systolith.sw.estimate.timeline import Ints, Timeline
from systolith.sw.reference.addressing import move_beats, send_beats

#: A memory, and whether it is written.
Key = tuple[Region, bool]


class Port:
    """A port of which all beats of a move find the same."""

    def __init__(self, line: Timeline):
        self._line = line

    def place(self, first: int, ready: Ints, after: int) -> Ints:
        """:meth:`Timeline.place` for the move's beats from number ``first`` on."""
        del first
        return self._line.place(ready, after)


class SplitPort:
    """A port in parts: a move's beats go to one or the other.

    Parameters
    ----------
    parts : sequence of (Timeline, int)
        Marks of each part, and how many cycles later than the marks the part is taken.
    chosen : int array
        The part of each beat of the move.
    """

    def __init__(self, parts: Sequence[tuple[Timeline, int]], chosen: Ints):
        self._parts, self._chosen = parts, chosen

    def place(self, first: int, ready: Ints, after: int) -> Ints:
        """:meth:`Timeline.place` for the move's beats from number ``first`` on."""
        result = ready.copy()
        beat = 0
        for part, run in groupby(self._chosen[first:first + len(ready)]):
            line, late = self._parts[part]
            end = beat + len(list(run))
            result[beat:end] = line.place(ready[beat:end] - late, after - late) + late
            beat, after = end, int(result[end - 1])
        return result


class Ports:
    """Timelines of the shared ports. Those that no move of the program uses are not kept.

    Parameters
    ----------
    config : Config
    moves : iterable of Command
        The mover's commands.
    remote : iterable of Key
        Ports that other cores use.
    """

    def __init__(self, config: Config, moves: Iterable[Command],
                 remote: Iterable[Key] = ()):
        self._config = config
        #: Reads of the array from each half of the accumulators.
        self.halves = Timeline(), Timeline()
        used = {_key(move) for move in moves if isinstance(move, Move | Remote)} | set(remote)
        self._system = {key: Timeline() for key in used}
        self._stored = (Timeline(), Timeline()) if (Region.ACC, False) in used else ()

    def of(self, move: Move | Remote) -> Port | SplitPort:
        """What a move finds at its port of the core's memory."""
        config, (region, write) = self._config, _key(move)
        if write or region not in (Region.ACC, Region.WGT) or not isinstance(move, Move | Send):
            return Port(self._system[region, write])
        beats = move_beats(move, config) if isinstance(move, Move) else send_beats(move, config)
        places = beats[1].ravel()
        if region == Region.ACC:
            half = config.region_bytes(region) // 2
            return SplitPort([(line, 0) for line in self._stored], places // half)
        # The array reads bank by bank, each a cycle after the one before.
        banks = places // config.cols % config.rows
        return SplitPort([(self._system[region, write], bank) for bank in range(config.rows)],
                         banks)

    def array_reads(self, half: int, cycles: Ints) -> None:
        """The array reads a half of the accumulators."""
        self.halves[half].mark(cycles)
        self.vector_reads(half, cycles)

    def vector_reads(self, half: int, cycles: Ints) -> None:
        """The vector unit reads a half of the accumulators."""
        if self._stored:
            self._stored[half].mark(cycles)

    def reads(self, region: Region, cycles: Ints) -> None:
        """An engine reads another memory; of weights, the first bank."""
        self._mark((region, False), cycles)

    def writes(self, region: Region, cycles: Ints) -> None:
        """An engine writes a memory in these cycles."""
        self._mark((region, True), cycles)

    def remote_writes(self, key: Key, ready: Ints, after: int, known: int) -> tuple[Ints, int]:
        """Another core's beats are written as soon as the memory's engines let them: in which
        cycles by what is known, and how many up to cycle ``known``, which take the ports. They
        have one way with those that the mover writes to any memory."""
        cycles = self._system[key].place(ready, after)
        done = int(np.searchsorted(cycles, known, side="right"))
        for (_, write), line in self._system.items():
            if write:
                line.mark(cycles[:done])
        return cycles, done

    def _mark(self, key: Key, cycles: Ints) -> None:
        if key in self._system:
            self._system[key].mark(cycles)


def _key(move: Move | Remote) -> Key:
    return Region(move.region), isinstance(move, Load)
