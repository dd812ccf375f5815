"""``systolith bench``: cycles of the named benchmarks, and where those that are lost went."""
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.sim.benchmarks import Benchmark
from systolith.sim.devices import open_device
from systolith.sim.lost import lost
from systolith.sim.measure import Measure
from systolith.sim.progress import Progress
from systolith.sim.text import number, print_table
from systolith.sw.runtime.device import Device
from systolith.sw.runtime.functional import FunctionalDevice


@dataclass(frozen=True)
class Outcome:
    """One benchmark that ran. ``lost``: percent of the cycles by cause, on a device with time."""

    name: str
    device: str
    measure: Measure
    bit_exact: bool
    lost: dict[str, float] | None

    def as_json(self) -> dict[str, Any]:
        """The values under their stable keys."""
        measure = self.measure
        return {"name": self.name, "config": measure.config.name, "device": self.device,
                "bit_exact": self.bit_exact, "cycles": measure.cycles, "macs": measure.macs,
                "percent_of_peak": _percent(measure.utilization),
                "percent_of_limit": _percent(measure.share_of_limit), "limit": measure.limit,
                "lost": self.lost}

    def main_losses(self, most: int = 3) -> str:
        """The causes that cost most, for tables: at least a tenth of a percent each."""
        causes = sorted((self.lost or {}).items(), key=lambda cause: -cause[1])[:most]
        return ", ".join(f"{name} {share:.1f}" for name, share in causes if share >= 0.1)


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 3)


def bench(benchmarks: Iterable[Benchmark], *, config: str, device: str,
          progress: Progress) -> Iterator[Outcome]:
    """Run benchmarks one after the other.

    Raises
    ------
    ConfigError, CompileError
        When the configuration is unknown or too small.
    """
    chosen: Config = get_config(config)
    with open_device(device, chosen, progress=progress) as opened:
        for benchmark in benchmarks:
            with progress.stage(benchmark.name):
                yield _outcome(benchmark, opened)


def _outcome(benchmark: Benchmark, device: Device) -> Outcome:
    run = benchmark.prepare(device)
    if isinstance(device, FunctionalDevice):
        work = run()
        measure = Measure(device.config, work.macs, work.counters)
        return Outcome(benchmark.name, device.name, measure, work.bit_exact, None)
    with device.record() as recorder:
        work = run()
        trace = recorder.trace()
    measure = Measure(device.config, work.macs, work.counters)
    return Outcome(benchmark.name, device.name, measure, work.bit_exact,
                   lost(measure, trace, work.head_dim))


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """One line a benchmark."""
    keys = ("cycles", "macs", "percent_of_peak", "percent_of_limit")
    rows = ([each.name, "yes" if each.bit_exact else "NO",
             *(number(each.as_json()[key]) for key in keys), each.measure.limit,
             each.main_losses()] for each in outcomes)
    print_table(("benchmark", "bit exact", "cycles", "useful MACs", "% of peak", "% of limit",
                 "limit", "most lost to (%)"), rows)
