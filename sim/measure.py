"""What a run cost: cycles, work, and the use of the array and of each engine."""
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, Engine
from systolith.sw.runtime.device import Counters, EngineCounters, sum_counters


@dataclass(frozen=True)
class Measure:
    """Counters beside the work they were spent on.

    Parameters
    ----------
    config : Config
    macs : int
        Useful multiply-accumulates.
    counters : Counters
        Those of the run, or a sum over runs. ``cycles`` 0 stands for a device without time.
    """

    config: Config
    macs: int
    counters: Counters

    @property
    def cycles(self) -> int | None:
        """Cycles of the run; None on a device without time."""
        return self.counters.cycles or None

    @property
    def peak(self) -> int:
        """Multiply-accumulates a cycle of all cores."""
        return self.config.peak_macs_per_cycle * self.config.cores

    @property
    def utilization(self) -> float | None:
        """Useful multiply-accumulates as a part of what the array can do in these cycles."""
        if self.cycles is None:
            return None
        return self.macs / (self.cycles * self.peak)

    @property
    def limits(self) -> dict[str, float]:
        """Cycles that the work takes at least, by what bounds it: useful multiply-accumulates over
        the peak of the ``array``, bytes moved over the width of the bus to external ``memory``,
        beats of the ``vector`` unit."""
        return {"array": self.macs / self.peak,
                "memory": self.counters.move_bytes / self.config.bus_bytes,
                "vector": self.counters.engines[Engine.VECTOR].busy}

    @property
    def limit(self) -> str:
        """The limit that takes longest."""
        return max(self.limits, key=lambda name: self.limits[name])

    @property
    def share_of_limit(self) -> float | None:
        """Cycles of the binding limit as a part of the run's."""
        return None if self.cycles is None else self.limits[self.limit] / self.cycles

    def engines(self) -> dict[str, dict[str, int | None]]:
        """Cycles of each engine by state, and its commands, by the engine's name.

        Without time ``busy`` counts beats and the other states are None.
        """
        return {engine.name.lower(): self._engine(self.counters.engines[engine])
                for engine in ENGINES}

    def _engine(self, engine: EngineCounters) -> dict[str, int | None]:
        states: dict[str, int | None] = dataclasses.asdict(engine)
        commands = states.pop("commands")
        if self.cycles is None:
            states = {**dict.fromkeys(states), "busy": engine.busy, "idle": None}
        else:
            states["idle"] = self.cycles * self.config.cores - sum(states.values())
        return {**states, "commands": commands}

    def as_json(self) -> dict[str, object]:
        """The measured values under their stable keys."""
        return {"cycles": self.cycles, "macs": self.macs,
                "peak_macs_per_cycle": self.peak,
                "utilization": self.utilization, "engines": self.engines(),
                "move_bytes": self.counters.move_bytes}


def total(measures: Sequence[Measure]) -> Measure:
    """The sum over several runs on one configuration."""
    return Measure(measures[0].config, sum(measure.macs for measure in measures),
                   sum_counters([measure.counters for measure in measures]))
