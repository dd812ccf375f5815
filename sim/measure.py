"""What a run cost: cycles, work, and the use of the array and of each engine."""
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES
from systolith.sw.runtime.device import Counters, EngineCounters


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
    def utilization(self) -> float | None:
        """Useful multiply-accumulates as a part of what the array can do in these cycles."""
        if self.cycles is None:
            return None
        return self.macs / (self.cycles * self.config.peak_macs_per_cycle)

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
            states["idle"] = self.cycles - sum(states.values())
        return {**states, "commands": commands}

    def as_json(self) -> dict[str, object]:
        """The measured values under their stable keys."""
        return {"cycles": self.cycles, "macs": self.macs,
                "peak_macs_per_cycle": self.config.peak_macs_per_cycle,
                "utilization": self.utilization, "engines": self.engines(),
                "move_bytes": self.counters.move_bytes}


def total(measures: Sequence[Measure]) -> Measure:
    """The sum over several runs on one configuration."""
    counters = [measure.counters for measure in measures]
    engines = {engine: EngineCounters(*map(sum, zip(
        *(dataclasses.astuple(each.engines[engine]) for each in counters), strict=True)))
        for engine in ENGINES}
    return Measure(measures[0].config, sum(measure.macs for measure in measures),
                   Counters(sum(each.cycles for each in counters),
                            sum(each.move_bytes for each in counters), engines))
