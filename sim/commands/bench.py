"""``systolith bench``: cycles of the named benchmarks, and where those that are lost went."""
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from systolith.hw.configs import get_config
from systolith.sim.benchmarks.work import Benchmark
from systolith.sim.devices import open_device
from systolith.sim.measure import Measure
from systolith.sim.modelled import modelled_cycles
from systolith.sim.progress import Progress
from systolith.sim.shares import DECIMALS, lost_shares
from systolith.sim.text import number, print_table
from systolith.sw.compiler import CompileError
from systolith.sw.estimate import external_memory
from systolith.sw.runtime.device import Device
from systolith.sw.runtime.functional import FunctionalDevice


@dataclass(frozen=True)
class Outcome:
    """One benchmark that ran. On a device with time, ``lost`` is the percentage of the cycles by
    cause, and ``model_cycles`` are those of the cycle model for the same commands."""

    name: str
    device: str
    measure: Measure
    bit_exact: bool
    lost: dict[str, float] | None = None
    model_cycles: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The values under their stable keys."""
        measure = self.measure
        return {"name": self.name, "config": measure.config.name, "device": self.device,
                "bit_exact": self.bit_exact, "cycles": measure.cycles, "macs": measure.macs,
                "percent_of_peak": self.percent_of_peak,
                "percent_of_limit": self.percent_of_peak if measure.limit == "array"
                else _percent(measure.share_of_limit), "limit": measure.limit,
                "lost": self.lost, "model_cycles": self.model_cycles}

    @property
    def percent_of_peak(self) -> float | None:
        """Useful work in percent, rounded to what the losses leave of 100."""
        if self.lost is None:
            return _percent(self.measure.utilization)
        return round(100 - sum(self.lost.values()), DECIMALS)

    @property
    def main_loss(self) -> str:
        """The cause that cost most and its percentage."""
        cause, share = max((self.lost or {"": 0.0}).items(), key=lambda item: item[1])
        return f"{cause} {share:.1f}" if share else "-"


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, DECIMALS)


def bench(benchmarks: Iterable[Benchmark], *, config: str, device: str, memory: str = "ideal",
          progress: Progress, skip: bool = False) -> Iterator[Outcome]:
    """Run benchmarks one after the other.

    Parameters
    ----------
    config : str
        Name of the configuration of those that have none of their own.
    memory : str
        Name of the external memory that is simulated, see :func:`external_memory`.
    skip : bool
        Leave out, with a note, those for which the configuration is too small.

    Raises
    ------
    ConfigError
        When the configuration is unknown.
    CompileError
        When it is too small, unless ``skip``.
    """
    opened: dict[str, Device] = {}
    with ExitStack() as devices:
        for benchmark in benchmarks:
            name = benchmark.config or config
            if name not in opened:
                opened[name] = devices.enter_context(
                    open_device(device, get_config(name), memory=memory, progress=progress))
            try:
                with progress.stage(benchmark.name):
                    outcome = _outcome(benchmark, opened[name], memory)
            except CompileError as error:
                if not skip:
                    raise
                progress.note(f"{benchmark.name} is left out: {error}")
            else:
                yield outcome


def _outcome(benchmark: Benchmark, device: Device, memory: str) -> Outcome:
    run = benchmark.prepare(device)
    if isinstance(device, FunctionalDevice):
        work = run()
        measure = Measure(device.config, work.macs, work.counters)
        return Outcome(benchmark.name, device.name, measure, work.bit_exact)
    with device.record() as recorder:
        work = run()
        trace = recorder.trace()
    measure = Measure(device.config, work.macs, work.counters)
    return Outcome(benchmark.name, device.name, measure, work.bit_exact,
                   lost_shares(measure, trace, work.head_dim),
                   modelled_cycles(trace, external_memory(memory, device.config)))


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """One line a benchmark."""
    rows = ([each.name, number(each.measure.cycles), _short(each.measure.utilization),
             f"{each.measure.limit} {_short(each.measure.share_of_limit)}", each.main_loss]
            for each in outcomes)
    print_table(("benchmark", "cycles", "% peak", "% of limit", "most lost, %"), rows)


def _short(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
