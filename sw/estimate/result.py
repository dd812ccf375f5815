"""What the cycle model says of a run."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, Engine
from systolith.sw.estimate.external import ExternalMemory
from systolith.sw.estimate.sequencer import Record
from systolith.sw.estimate.work import Work
from systolith.sw.runtime.device import Counters, EngineCounters


@dataclass(frozen=True)
class Timing:
    """Cycles of one command: of its first beat, if nothing holds it back, of its last, and in which
    it retires. Cycle 0 is the first of the run."""

    start: int
    end: int
    retired: int


@dataclass(frozen=True)
class Estimate:
    """A run in the model.

    Parameters
    ----------
    config : Config
    external : ExternalMemory
    counters : Counters
        What the core's counters show after the run.
    work : Work
        Cycles that each resource needs at least.
    timings : mapping of Engine to sequence of Timing
        Of each command.
    """

    config: Config
    external: ExternalMemory
    counters: Counters
    work: Work
    timings: Mapping[Engine, Sequence[Timing]]

    @property
    def cycles(self) -> int:
        """Cycles of the run."""
        return self.counters.cycles

    @property
    def bound(self) -> str:
        """The resource that needs the most cycles: ``array``, ``vector`` or ``memory``."""
        return self.work.bound

    @property
    def of_limit(self) -> float:
        """The cycles that :attr:`bound` needs at least, as a part of those of the run."""
        return self.work.limits[self.bound] / self.cycles

    def parts(self, products: Mapping[str, int]) -> dict[str, int]:
        """Cycles of each part of a model, which add up to those of the run.

        A part goes from the end of the last product before it to that of its own last product, the
        last one to the end of the run. One without products is left to the part after it.

        Parameters
        ----------
        products : mapping of str to int
            Products of each part, in order; a program's note ``products`` has them.
        """
        result, number, before = {}, 0, 0
        kept = {name: count for name, count in products.items() if count}
        for name, count in kept.items():
            number += count
            end = self.timings[Engine.MATRIX][number - 1].end + 1
            result[name], before = end - before, end
        if kept:
            result[name] += self.cycles - before
        return result


def counters_of(records: Mapping[Engine, Sequence[Record]], work: Work, start: int = 0) -> Counters:
    """The counters after a run that began in cycle ``start``: in each cycle an engine is busy,
    stalled, waits or is idle."""
    busy = {Engine.MOVE: work.moves, Engine.MATRIX: work.array, Engine.VECTOR: work.vector}
    cycles = max((record.retired + 1 - start for engine in ENGINES for record in records[engine]),
                 default=0)
    return Counters(cycles, work.move_bytes, {
        engine: _engine(records[engine], busy[engine]) for engine in ENGINES})


def _engine(records: Sequence[Record], busy: int) -> EngineCounters:
    semaphore = fence = active = 0
    before = -1  # the last cycle in which the engine is active
    for record in records:
        semaphore += max(0, record.granted - max(record.ready, before + 1))
        if record.fenced:
            fence += max(0, record.ready - max(record.fetched, before + 1))
        active += record.end - max(record.accepted, before)
        before = record.end
    return EngineCounters(busy=busy, wait_semaphore=semaphore, wait_fence=fence,
                          stall=active - busy, commands=len(records))
