"""From a program to its cycles."""
from collections.abc import Mapping, Sequence

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine
from systolith.sw.estimate.compact import estimate_compact
from systolith.sw.estimate.external import ExternalMemory
from systolith.sw.estimate.machine import run_core
from systolith.sw.estimate.result import Estimate, Timing, counters_of
from systolith.sw.estimate.work import work_of


def estimate(config: Config, streams: Mapping[Engine, Sequence[Command]],
             external: ExternalMemory | None = None) -> Estimate:
    """Play a program at the granularity of commands.

    Parameters
    ----------
    config : Config
    streams : mapping of Engine to sequence of Command
        Each engine's queue, in order; they must be fit to run, see :func:`verify`.
    external : ExternalMemory, optional
        By default, that of the simulator.

    Raises
    ------
    StuckError
        When the commands wait for each other.
    """
    external = external or ExternalMemory()
    if config.compact:
        return estimate_compact(config, streams, external)
    records = run_core(config, streams, external)
    work = work_of(streams, config, external.gap(config))
    timings = {engine: [Timing(each.accepted + 1, each.end, each.retired) for each in kept]
               for engine, kept in records.items()}
    return Estimate(config, external, counters_of(records, work), work, timings)
