"""The machine as a game of events: queues, sequencers, semaphores and engines.

Cycle 0 is the first with RUN. What registers change at the end of cycle ``t`` is an event of cycle
``t + 1``. In one cycle registers come first, then the host, then semaphores, then the engines.
"""
import heapq
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from itertools import count
from math import ceil

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, WORDS, Command, Engine, Move, Product
from systolith.sw.estimate.external import ExternalMemory
from systolith.sw.estimate.matrix import MatrixModel
from systolith.sw.estimate.mover import MoverModel
from systolith.sw.estimate.ports import Ports
from systolith.sw.estimate.queues import FIRST_SAMPLE, ROUND, Queues
from systolith.sw.estimate.sequencer import Record, Sequencer
from systolith.sw.estimate.vector import VectorModel
from systolith.sw.runtime.device import StuckError

#: Who takes semaphores first.
PRIORITY = (Engine.MATRIX, Engine.VECTOR, Engine.MOVE)


class Phase(IntEnum):
    """Order of the events of a cycle."""

    REGISTERS = 0
    HOST = 1
    GRANTS = 2
    ENGINES = 3


class Machine:
    """One run of three streams of commands.

    Parameters
    ----------
    config : Config
    streams : mapping of Engine to sequence of Command
    external : ExternalMemory
    """

    def __init__(self, config: Config, streams: Mapping[Engine, Sequence[Command]],
                 external: ExternalMemory):
        commands = {engine: streams.get(engine, ()) for engine in ENGINES}
        self._queues = Queues(config, {e: len(commands[e]) * WORDS[e] for e in ENGINES})
        self._sequencers = {e: Sequencer(e, commands[e], self._queues.available[e])
                            for e in ENGINES}
        ports = Ports(config, commands[Engine.MOVE])
        self._matrix, self._matrix_end = MatrixModel(config, ports), 0
        self._vector = VectorModel(config, ports)
        self._mover = MoverModel(config, external, ports)
        self._mover_check = -1
        self._matrix_latency = config.matrix_latency
        self._semaphores = [0] * 16
        self._events: list[tuple[int, Phase, int, Callable[[int], None]]] = []
        self._numbers = count()
        self._grant_times: set[int] = set()
        self._sleeping: int | None = None

    def run(self) -> dict[Engine, list[Record]]:
        """Play to the end; what happened to each command.

        Raises
        ------
        StuckError
            When the commands wait for each other.
        """
        for sequencer in self._sequencers.values():
            self._fetch(sequencer)
        if not self._queues.complete:
            self._at(FIRST_SAMPLE, Phase.HOST, self._host)
        while self._events:
            time, _, _, action = heapq.heappop(self._events)
            action(time)
        for sequencer in self._sequencers.values():
            if any(record.retired < 0 for record in sequencer.records):
                raise StuckError(f"the {sequencer.engine.name} engine does not go on after "
                                 f"{len(sequencer.records) - 1} commands")
        return {engine: self._sequencers[engine].records for engine in ENGINES}

    def _at(self, time: int, phase: Phase, action: Callable[[int], None]) -> None:
        heapq.heappush(self._events, (time, phase, next(self._numbers), action))

    # Queues and semaphores -------------------------------------------------------------------

    def _fetch(self, sequencer: Sequencer) -> None:
        complete = sequencer.fetch()
        if complete is not None:
            self._grant_at(complete)

    def _host(self, time: int) -> None:
        taken = {engine: each.taken(time) for engine, each in self._sequencers.items()}
        after = self._queues.sample(time, taken)
        if after == time + ROUND and not any(s.takes(time) for s in self._sequencers.values()):
            self._sleeping = after
            return
        for sequencer in self._sequencers.values():
            self._fetch(sequencer)
        if not self._queues.complete:
            self._at(after, Phase.HOST, self._host)

    def _wake_host(self, time: int) -> None:
        """A sequencer goes on after cycle ``time``, so the queues will have room again: go back to
        the host's samples, of which those that would have found none were left out."""
        if self._sleeping is not None:
            missed = max(0, ceil((time + 1 - self._sleeping) / ROUND))
            self._at(self._sleeping + missed * ROUND, Phase.HOST, self._host)
            self._sleeping = None

    def _grant_at(self, time: int) -> None:
        if time not in self._grant_times:
            self._grant_times.add(time)
            self._at(time, Phase.GRANTS, self._grant)

    def _grant(self, time: int) -> None:
        """One engine at most takes its semaphores."""
        self._grant_times.discard(time)
        wanted = [self._sequencers[engine] for engine in PRIORITY
                  if self._sequencers[engine].requests(time)]
        possible = [s for s in wanted
                    if all(self._semaphores[bit] for bit in bits(s.command.wait))]
        if not possible:
            return
        chosen = possible[0]
        for bit in bits(chosen.command.wait):
            self._semaphores[bit] -= 1
        chosen.grant(time)
        self._offer(chosen.engine, time)
        if len(possible) > 1:
            self._grant_at(time + 1)

    def _retire(self, sequencer: Sequencer, record: Record, command: Command, cycle: int) -> None:
        """The command retires in a cycle that is settled; it shows in the next."""
        record.retired = cycle

        def shows(time: int) -> None:
            sequencer.in_flight -= 1
            for bit in bits(command.signal):
                self._semaphores[bit] += 1
            self._grant_at(time)

        self._at(cycle + 1, Phase.REGISTERS, shows)

    # Engines -----------------------------------------------------------------------------------

    def _offer(self, engine: Engine, time: int) -> None:
        """Let an engine take the command that it is offered, once it is known when it can."""
        sequencer = self._sequencers[engine]
        free = {Engine.MATRIX: self._matrix_end, Engine.VECTOR: self._vector.end,
                Engine.MOVE: self._mover.free}[engine]
        if sequencer.offered is None or free is None:
            return
        action = {Engine.MATRIX: self._take_product, Engine.VECTOR: self._take_pass,
                  Engine.MOVE: self._take_move}[engine]
        self._at(max(sequencer.offered, free, time), Phase.ENGINES, action)

    def _take(self, engine: Engine, time: int) -> tuple[Command, Record]:
        sequencer = self._sequencers[engine]
        record, command = sequencer.record, sequencer.accept(time)
        self._fetch(sequencer)
        self._wake_host(time)
        return command, record

    def _take_product(self, time: int) -> None:
        command, record = self._take(Engine.MATRIX, time)
        assert isinstance(command, Product)
        record.end = self._matrix_end = self._matrix.accept(command, time)
        self._retire(self._sequencers[Engine.MATRIX], record, command,
                     record.end + self._matrix_latency)

    def _take_pass(self, time: int) -> None:
        command, record = self._take(Engine.VECTOR, time)
        self._vector.accept(command, time)

        def check(time: int) -> None:
            self._vector.advance(time)
            if self._vector.end is None:
                self._at(self._vector.expected(), Phase.ENGINES, check)
                return
            record.end = self._vector.end
            self._retire(self._sequencers[Engine.VECTOR], record, command, self._vector.retire())
            self._offer(Engine.VECTOR, time)

        self._at(self._vector.expected(), Phase.ENGINES, check)

    def _take_move(self, time: int) -> None:
        command, _ = self._take(Engine.MOVE, time)
        assert isinstance(command, Move)
        self._mover.accept(command, time)
        self._move(time)

    def _move(self, time: int) -> None:
        """Settle what the mover does up to now, and come back when there can be more."""
        sequencer, walking = self._sequencers[Engine.MOVE], self._mover.free is None
        self._vector.advance(time)
        self._mover.advance(time)
        for number, end, retired in self._mover.retired():
            record = sequencer.records[number]
            record.end = end
            self._retire(sequencer, record, sequencer.commands[number], retired)
        if walking and self._mover.free is not None:
            self._offer(Engine.MOVE, time)
        following = self._mover.expected(time)
        if following is not None:
            self._mover_check = following
            self._at(following, Phase.ENGINES, self._check_move)

    def _check_move(self, time: int) -> None:
        if time == self._mover_check:
            self._move(time)


@cache
def bits(mask: int) -> tuple[int, ...]:
    """Numbers of the bits that are set in a mask of semaphores."""
    return tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)
