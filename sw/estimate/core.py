"""A core as a game of events: sequencers, semaphores and engines.

Cycle 0 is the first with RUN.
"""
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, Command, Engine, Move, Product, Remote
from systolith.sw.estimate.events import Events, Phase
from systolith.sw.estimate.inbox import Inbox
from systolith.sw.estimate.matrix import MatrixModel
from systolith.sw.estimate.mover import Far, MoverModel
from systolith.sw.estimate.ports import Key, Ports
from systolith.sw.estimate.queues import Queues
from systolith.sw.estimate.sequencer import Record, Sequencer
from systolith.sw.estimate.timeline import Ints
from systolith.sw.estimate.vector import VectorModel
from systolith.sw.runtime.device import StuckError

#: Who takes semaphores first.
PRIORITY = (Engine.MATRIX, Engine.VECTOR, Engine.MOVE)


class Core:
    """One core's part in a run.

    Parameters
    ----------
    config : Config
    number : int
        Its place among the cores.
    streams : mapping of Engine to sequence of Command
    events : Events
    queues : Queues
    far : Far
        What the mover reaches outside of the core.
    remote : iterable of Key
        The ports that other cores use.
    takes : callable
        Called with the cycle when a sequencer goes on to the next command.
    """

    def __init__(self, config: Config, number: int, streams: Mapping[Engine, Sequence[Command]],
                 events: Events, queues: Queues, far: Far, remote: frozenset[Key],
                 takes: Callable[[int], None]):
        #: Cycle of the first core's run in which this one starts: the host starts one a cycle.
        self.start = number
        commands = {engine: streams.get(engine, ()) for engine in ENGINES}
        self._events, self._takes = events, takes
        self.sequencers = {e: Sequencer(e, commands[e], queues.available[number, e])
                           for e in ENGINES}
        self._ports = ports = Ports(config, commands[Engine.MOVE], remote)
        self._matrix, self._matrix_end = MatrixModel(config, ports), 0
        self._vector = VectorModel(config, ports)
        self._mover = MoverModel(config, far, ports)
        self._mover_check = -1
        self._matrix_latency, self._pass_latency = config.matrix_latency, config.pass_latency
        self._semaphores = [0] * 16
        self._grant_times: set[int] = set()
        self._inbox = Inbox(ports)

    def fetch(self, engine: Engine) -> None:
        """There may be new words in an engine's queue."""
        complete = self.sequencers[engine].fetch()
        if complete is not None:
            self._grant_at(max(complete, self.start))

    def records(self) -> dict[Engine, list[Record]]:
        """What happened to each command.

        Raises
        ------
        StuckError
            When commands are left.
        """
        for sequencer in self.sequencers.values():
            if len(sequencer.records) < len(sequencer.commands) or any(
                    record.retired < 0 for record in sequencer.records):
                raise StuckError(f"the {sequencer.engine.name} engine does not go on after "
                                 f"{len(sequencer.records) - 1} commands")
        return {engine: self.sequencers[engine].records for engine in ENGINES}

    # From other cores --------------------------------------------------------------------------

    def write(self, key: Key, ready: Ints, time: int) -> None:
        """Beats of another core, which can be written from these cycles on; ``time`` is the last
        of them."""
        self._inbox.write(key, ready)
        self._come(time)

    def signal(self, mask: int, time: int) -> None:
        """Another core increments semaphores in the next cycle, or after all that it has
        written."""
        self._inbox.signal(mask, time + 1)
        self._come(time)

    def _come(self, time: int) -> None:
        """Settle what comes up to now, and come back when there is more."""
        self._vector.advance(time)
        signals, following = self._inbox.advance(time + self._pass_latency)
        for mask, cycle in signals:
            self._events.at(cycle, Phase.REGISTERS, partial(self._signalled, mask))
        if following is not None:
            self._events.at(max(time + 1, following - self._pass_latency), Phase.ENGINES,
                            self._come)

    def _signalled(self, mask: int, time: int) -> None:
        for bit in bits(mask):
            self._semaphores[bit] += 1
        self._grant_at(time)

    # Semaphores --------------------------------------------------------------------------------

    def _grant_at(self, time: int) -> None:
        if time not in self._grant_times:
            self._grant_times.add(time)
            self._events.at(time, Phase.GRANTS, self._grant)

    def _grant(self, time: int) -> None:
        """One engine at most takes its semaphores."""
        self._grant_times.discard(time)
        wanted = [self.sequencers[engine] for engine in PRIORITY
                  if self.sequencers[engine].requests(time)]
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
            self._signalled(command.signal, time)

        self._events.at(cycle + 1, Phase.REGISTERS, shows)

    # Engines -----------------------------------------------------------------------------------

    def _offer(self, engine: Engine, time: int) -> None:
        """Let an engine take the command that it is offered, once it is known when it can."""
        sequencer = self.sequencers[engine]
        free = {Engine.MATRIX: self._matrix_end, Engine.VECTOR: self._vector.end,
                Engine.MOVE: self._mover.free}[engine]
        if sequencer.offered is None or free is None:
            return
        action = {Engine.MATRIX: self._take_product, Engine.VECTOR: self._take_pass,
                  Engine.MOVE: self._take_move}[engine]
        self._events.at(max(sequencer.offered, free, time), Phase.ENGINES, action)

    def _take(self, engine: Engine, time: int) -> tuple[Command, Record]:
        sequencer = self.sequencers[engine]
        record, command = sequencer.record, sequencer.accept(time)
        self.fetch(engine)
        self._takes(time)
        return command, record

    def _take_product(self, time: int) -> None:
        command, record = self._take(Engine.MATRIX, time)
        assert isinstance(command, Product)
        record.end = self._matrix_end = self._matrix.accept(command, time)
        self._retire(self.sequencers[Engine.MATRIX], record, command,
                     record.end + self._matrix_latency)

    def _take_pass(self, time: int) -> None:
        command, record = self._take(Engine.VECTOR, time)
        self._vector.accept(command, time)

        def check(time: int) -> None:
            self._vector.advance(time)
            if self._vector.end is None:
                self._events.at(self._vector.expected(), Phase.ENGINES, check)
                return
            record.end = self._vector.end
            self._retire(self.sequencers[Engine.VECTOR], record, command, self._vector.retire())
            self._offer(Engine.VECTOR, time)

        self._events.at(self._vector.expected(), Phase.ENGINES, check)

    def _take_move(self, time: int) -> None:
        command, _ = self._take(Engine.MOVE, time)
        assert isinstance(command, Move | Remote)
        self._mover.accept(command, time)
        self._move(time)

    def _move(self, time: int) -> None:
        """Settle what the mover does up to now, and come back when there can be more."""
        sequencer, walking = self.sequencers[Engine.MOVE], self._mover.free is None
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
            self._events.at(following, Phase.ENGINES, self._check_move)

    def _check_move(self, time: int) -> None:
        if time == self._mover_check:
            self._move(time)


@cache
def bits(mask: int) -> tuple[int, ...]:
    """Numbers of the bits that are set in a mask of semaphores."""
    return tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)
