"""Cycles of a program of many cores: the cores, the mesh between them, the memory they share."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from systolith.hw.config import Config, Region
from systolith.hw.isa import ENGINES, WORDS, Command, Engine, Remote, Send
from systolith.sw.estimate.core import Core
from systolith.sw.estimate.events import Events, Phase
from systolith.sw.estimate.external import ExternalMemory
from systolith.sw.estimate.host import Host
from systolith.sw.estimate.mover import Far
from systolith.sw.estimate.network import Link, Network, Receiver, Sender
from systolith.sw.estimate.queues import Queues
from systolith.sw.estimate.result import Estimate, Timing, counters_of
from systolith.sw.estimate.shared_memory import SharedMemory
from systolith.sw.estimate.timeline import Ints
from systolith.sw.estimate.work import work_of


@dataclass(frozen=True)
class MeshEstimate:
    """A run of all cores in the model.

    Parameters
    ----------
    config : Config
    cores : sequence of Estimate
        By number.
    packets : mapping of Link to int
        Packets that passed each link of the mesh.
    """

    config: Config
    cores: Sequence[Estimate]
    packets: Mapping[Link, int]

    @property
    def cycles(self) -> int:
        """Cycles of the run: those of the core that is last."""
        return max(core.cycles for core in self.cores)

    @property
    def utilization(self) -> list[float]:
        """The part of the run in which each core's array works."""
        return [core.work.array / self.cycles if self.cycles else 0.0 for core in self.cores]

    @property
    def hottest(self) -> tuple[Link, float] | None:
        """The link with most packets, and the part of the cycles in which it has one."""
        if not self.packets:
            return None
        link = max(self.packets, key=lambda each: self.packets[each])
        return link, self.packets[link] / self.cycles


@dataclass(frozen=True)
class _Arrivals:
    """What comes to a core, at its time."""

    core: Core
    events: Events

    def receive(self, command: Remote, writes: Ints, signal: int | None) -> None:
        if len(writes):
            self.events.at(int(writes[-1]), Phase.ENGINES, lambda time: self.core.write(
                (Region(command.remote_region), True), writes, time))
        if signal is not None:
            self.events.at(signal - 1, Phase.ENGINES,
                           partial(self.core.signal, command.remote_signal))


def estimate_mesh(config: Config, commands: Sequence[Mapping[Engine, Sequence[Command]]],
                  external: ExternalMemory | None = None) -> MeshEstimate:
    """Play a program of all cores at the granularity of commands.

    Parameters
    ----------
    config : Config
        Of the chip.
    commands : sequence of mapping of Engine to sequence of Command
        By core, each engine's queue, in order; they must be fit to run, see :func:`verify_mesh`.
    external : ExternalMemory, optional
        By default, that of the simulator.

    Raises
    ------
    StuckError
        When commands wait for each other.
    """
    external = external or ExternalMemory()
    events, network = Events(), Network(config)
    memory = SharedMemory(external.gap(config))
    queues = Queues(config, {(number, e): len(streams.get(e, ())) * WORDS[e]
                             for number, streams in enumerate(commands) for e in ENGINES})
    written = frozenset((Region(each.remote_region), True) for streams in commands
                        for each in streams.get(Engine.MOVE, ()) if isinstance(each, Send))
    receivers: list[Receiver] = []
    cores = [Core(config, number, streams, events, queues,
                  Far(external, memory.user(), Sender(network, number, receivers)), written,
                  lambda time: host.wake(time))
             for number, streams in enumerate(commands)]
    receivers += [cast(Receiver, _Arrivals(core, events)) for core in cores]
    host = Host(events, queues, [core.sequencers for core in cores],
                lambda number, engine: cores[number].fetch(engine))
    for core in cores:
        for engine in ENGINES:
            core.fetch(engine)
    host.start()
    events.run()
    return MeshEstimate(config, [_estimate(core, config, streams, external)
                                 for core, streams in zip(cores, commands, strict=True)],
                        dict(network.packets))


def _estimate(core: Core, config: Config, streams: Mapping[Engine, Sequence[Command]],
              external: ExternalMemory) -> Estimate:
    records = core.records()
    work = work_of(streams, config, external.gap(config))
    timings = {engine: [Timing(each.accepted + 1, each.end, each.retired) for each in kept]
               for engine, kept in records.items()}
    return Estimate(config, external, counters_of(records, work, core.start), work, timings)
