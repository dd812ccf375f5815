"""What simulating a chip costs as its cores get more: time to build, cycles a second, threads."""
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial

from systolith.hw.config import Config
from systolith.sim import cxx
from systolith.sim.mesh.speed_up import meshes
from systolith.sim.progress import Progress
from systolith.sim.rtl import RtlDevice
from systolith.sim.rtl_cluster import RtlCluster
from systolith.sim.speed.measure import processor_seconds
from systolith.sim.store import CACHE_VARIABLE
from systolith.sim.text import number, print_table
from systolith.sim.verilate import RUNTIME
from systolith.sw.compiler.attention_alone import CompiledMix, MixedResult, compile_attention_alone
from systolith.sw.compiler.attention_mesh import compile_attention_mesh

#: Attention on each core while cycles are counted: positions, heads, columns of a head.
LENGTH, HEADS, HEAD_DIM = 64, 2, 32

#: Threads that are tried; runs of each, in turns, of which the fastest counts.
THREADS, TURNS = (1, 2, 4), 3


@dataclass(frozen=True)
class Cost:
    """A chip that was simulated.

    Parameters
    ----------
    cores, threads : int
    build_seconds : float
        Processor time from nothing to the simulator: generator, Verilator, C++ compiler.
    cycles_per_second : float
        Of the clock on the wall, with cores that all work.
    work_ratio : float
        Cycles a second times cores, over those of one core in one thread.
    """

    cores: int
    threads: int
    build_seconds: float
    cycles_per_second: float
    work_ratio: float


@dataclass(frozen=True)
class Simulation:
    """What simulating more and more cores costs."""

    costs: Sequence[Cost]

    def as_json(self) -> list[dict[str, object]]:
        """The values under their stable keys."""
        return [asdict(cost) for cost in self.costs]

    def print(self) -> None:
        """A line a number of cores and threads."""
        print_table(("cores", "threads", "build, processor s", "cycles/s", "cores x cycles/s"),
                    ([number(cost.cores), number(cost.threads), f"{cost.build_seconds:.0f}",
                      number(round(cost.cycles_per_second)), f"{cost.work_ratio:.2f}"]
                     for cost in self.costs))


def simulation(core: Config, width: int, height: int, *, progress: Progress) -> Simulation:
    """Build and run chips with 1, 2, 4, ... cores, in a cache of their own.

    Parameters
    ----------
    core : Config
        Of one core.
    width, height : int
        The largest mesh.

    Raises
    ------
    ConfigError, CompileError, ToolchainError
        When the core is too small for the work, or a tool is missing.
    RuntimeError
        When a result is not that of the reference.
    """
    costs: list[Cost] = []
    with _empty_cache(progress):
        for config in meshes(core, width, height):
            start = processor_seconds()
            _open(config, 1, progress).close()
            build = processor_seconds() - start
            with progress.stage(f"simulate {config.cores} cores"):
                rates = _rates(config)
            first = costs[0].cycles_per_second if costs else rates[1]
            costs += [Cost(config.cores, threads, build, rate, rate * config.cores / first)
                      for threads, rate in rates.items()]
    return Simulation(costs)


@contextmanager
def _empty_cache(progress: Progress) -> Iterator[None]:
    """Build everything anew but the run-time library of Verilator."""
    before = os.environ.get(CACHE_VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE_VARIABLE] = folder
        try:
            with progress.stage("Verilator run-time library"):
                cxx.runtime_objects(RUNTIME)
            yield
        finally:
            del os.environ[CACHE_VARIABLE]
            if before is not None:
                os.environ[CACHE_VARIABLE] = before


def _open(config: Config, threads: int, progress: Progress) -> RtlDevice | RtlCluster:
    if config.cores == 1:
        return RtlDevice(config, progress=progress)
    return RtlCluster(config, threads=threads, progress=progress)


def _rates(config: Config) -> dict[int, float]:
    """Cycles a second by threads; no more threads than cores."""
    best = {threads: 0.0 for threads in THREADS if threads <= config.cores}
    for _ in range(TURNS):
        for threads in best:
            with _open(config, threads, Progress(quiet=True)) as machine:
                best[threads] = max(best[threads], _rate(machine))
    return best


def _rate(machine: RtlDevice | RtlCluster) -> float:
    """Cycles a second while attention is loaded, run and read back."""
    config = machine.config
    work = {"length": LENGTH, "heads": HEADS * config.cores, "head_dim": HEAD_DIM}
    if isinstance(machine, RtlCluster):
        shared = compile_attention_mesh(config, **work)
        run = partial(shared.run, machine)
    else:
        alone = compile_attention_alone(config, **work)
        run = partial(_alone, alone, machine)
    start, before = time.perf_counter(), machine.harness.cycles
    results = run()
    seconds = time.perf_counter() - start
    if not all(each.bit_exact for each in results):
        raise RuntimeError(f"attention on {config.name} is not bit exact")
    return (machine.harness.cycles - before) / seconds


def _alone(compiled: CompiledMix, device: RtlDevice) -> list[MixedResult]:
    return [compiled.run(device)]
