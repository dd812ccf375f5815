"""The vector unit: a beat a cycle, unless the array reads the same accumulators."""
from itertools import groupby

import numpy as np

from systolith.hw.config import TABLE_SEGMENTS, Config, Region
from systolith.hw.isa import Command, Pass, Reduce, Sink, Source, Table
from systolith.sw.estimate.ports import Ports
from systolith.sw.estimate.timeline import Ints, Timeline
from systolith.sw.reference.addressing import source_words, uses_constants, uses_stream

#: The memory that each sink writes.
SINKS = {Sink.ACT: Region.ACT, Sink.WGT_ROWS: Region.WGT, Sink.WGT_LANES: Region.WGT,
         Sink.VEC: Region.VEC}


class VectorModel:
    """When the beats of passes start.

    The array's reads are known only as far as its commands are, so a pass is followed step by step:
    ``advance`` settles what happened up to a cycle, ``expected`` never lies after the true end.

    Attributes
    ----------
    end : int or None
        Cycle of the last beat of the command taken last; None until it is settled.
    """

    def __init__(self, config: Config, ports: Ports):
        self._config, self._ports = config, ports
        self._free = Timeline()
        self.end: int | None = -1
        self._next = 0
        self._left: list[tuple[int | None, int]] = []
        self._command: Command
        self._late = -1

    def accept(self, command: Command, time: int) -> None:
        """Take a command in cycle ``time``."""
        self._command, self._next, self.end = command, time + 1, None
        self._left = self._parts(command)

    def _parts(self, command: Command) -> list[tuple[int | None, int]]:
        """Runs of beats, each with the half of the accumulators that it reads."""
        if isinstance(command, Table):
            return [(None, TABLE_SEGMENTS)]
        assert isinstance(command, Pass)
        if command.source == Source.VEC:
            return [(None, command.rows * command.beats)]
        halves = source_words(command, self._config).ravel() // self._config.acc_half
        if halves.min() == halves.max():
            return [(int(halves[0]), len(halves))]
        return [(int(half), len(list(run))) for half, run in groupby(halves)]

    def _starts(self) -> Ints:
        """Cycles of the beats that are left, as far as the array's reads are known."""
        starts, after = [], self._next - 1
        for half, count in self._left:
            line = self._free if half is None else self._ports.halves[half]
            starts.append(line.place(np.full(count, self._next), after))
            after = int(starts[-1][-1])
        return np.concatenate(starts)

    def expected(self) -> int:
        """The end, if the array reads nothing that is not known yet."""
        return int(self._starts()[-1])

    def advance(self, time: int) -> None:
        """Settle what happens up to cycle ``time``, up to which the array's reads are known."""
        if self.end is not None or self._next > time:
            return
        starts = self._starts()
        done = int(np.searchsorted(starts, time, side="right"))
        self._use(starts[:done])
        self._next = time + 1
        if done == len(starts):
            self.end = int(starts[-1])
        self._pass_on(starts[:done])

    def _pass_on(self, starts: Ints) -> None:
        """Take beats that have started out of those that are left."""
        while len(starts):
            half, count = self._left.pop(0)
            if half is not None:
                self._ports.vector_reads(half, starts[:count])
            if len(starts) < count:
                self._left.insert(0, (half, count - len(starts)))
            starts = starts[count:]

    def _use(self, starts: Ints) -> None:
        """Mark the ports that beats use."""
        command, ports = self._command, self._ports
        if isinstance(command, Table):
            ports.reads(Region.VEC, starts)
            return
        assert isinstance(command, Pass)
        if command.source == Source.VEC or uses_stream(command):
            ports.reads(Region.VEC, starts)
        if uses_constants(command):
            ports.reads(Region.CONST, starts)
        if command.sink != Sink.NONE:
            ports.writes(SINKS[Sink(command.sink)], starts + self._config.pass_latency)

    def retire(self) -> int:
        """Cycle in which the command that has ended retires; ask once for each.

        A reduction is written late, and a command after it that has none waits its turn.
        """
        assert self.end is not None
        command, done = self._command, self.end + self._config.pass_latency
        reduces = isinstance(command, Pass) and command.reduce != Reduce.NONE
        late = self._config.reduction_latency - self._config.pass_latency
        if not reduces and done > self._late:
            return done
        self._late = done + late
        return self._late
