"""A run of one core: its host, its engines, its external memory."""
from collections.abc import Mapping, Sequence

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, WORDS, Command, Engine
from systolith.sw.estimate.core import Core
from systolith.sw.estimate.events import Events
from systolith.sw.estimate.external import ExternalMemory
from systolith.sw.estimate.host import Host
from systolith.sw.estimate.mover import Far
from systolith.sw.estimate.pace import Pace
from systolith.sw.estimate.queues import Queues
from systolith.sw.estimate.sequencer import Record


def run_core(config: Config, streams: Mapping[Engine, Sequence[Command]],
             external: ExternalMemory) -> dict[Engine, list[Record]]:
    """Play three streams of commands to the end; what happened to each command.

    Raises
    ------
    StuckError
        When the commands wait for each other.
    """
    events = Events()
    queues = Queues(config, {(0, e): len(streams.get(e, ())) * WORDS[e] for e in ENGINES})
    core = Core(config, 0, streams, events, queues, Far(external, Pace(external.gap(config))),
                frozenset(), lambda time: host.wake(time))
    host = Host(events, queues, [core.sequencers], lambda _, engine: core.fetch(engine))
    for engine in ENGINES:
        core.fetch(engine)
    host.start()
    events.run()
    return core.records()
