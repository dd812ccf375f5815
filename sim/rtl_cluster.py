"""The RTL cluster: a chip with several cores in Verilator."""
from collections.abc import Collection, Mapping, Sequence

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, Engine, Register, status_field
from systolith.sim.cluster_build import build_cluster
from systolith.sim.harness import ClusterResult, Harness, HarnessError, Outcome
from systolith.sim.progress import Progress
from systolith.sim.rtl import RtlCore, run_registers
from systolith.sw.estimate import ExternalMemory
from systolith.sw.runtime.cluster import Cluster, ClusterError, core_name, switched_off
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, StuckError
from systolith.sw.runtime.registers import status_mask, stopped


class RtlCluster(Cluster):
    """Cores of a chip in Verilator, with one external memory. Use it in a ``with`` statement.

    Parameters
    ----------
    config : Config
        Sizes of a chip with several cores, which is built when the cache does not have it.
    external : ExternalMemory, optional
        How external memory behaves.
    stall_percent : int
        Share of the cycles, 0 to 95, in which host and external memory hold back at random.
    seed : int
        Seed of those stalls.
    threads : int
        Threads that simulate the cores, at most one for each.
    off : collection of int
        Cores that are switched off: held in reset.
    progress : Progress, optional
        Where the stages of the build are shown; without, they are not shown.

    Attributes
    ----------
    external : ExternalMemory
        What was given.
    harness : Harness
        The simulated chip, for accesses that the driver does not make.

    Raises
    ------
    ValueError
        When the configuration has one core.
    ConfigError
        When there is no core of ``off``, or none that is on.
    ToolchainError
        When the chip cannot be built.
    """

    name = "rtl"

    def __init__(self, config: Config, *, external: ExternalMemory | None = None,
                 stall_percent: int = 0, seed: int = 0, threads: int = 1,
                 off: Collection[int] = (), progress: Progress | None = None):
        self.config, self.off = config, switched_off(config, off)
        self.external = external or ExternalMemory()
        self.harness = Harness(build_cluster(config, progress=progress), ext_bytes=config.ext_bytes,
                               latency=self.external.latency, gap=self.external.gap(config),
                               stall_percent=stall_percent, seed=seed, threads=threads)
        for number in self.off:
            self.harness.switch_off(number)
        self.harness.reset()
        self.cores: list[_Core] = [_Core(config, self, number) for number in range(config.cores)]

    def __enter__(self) -> "RtlCluster":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Free the simulated chip."""
        self.harness.close()

    @property
    def _on(self) -> "list[_Core]":
        """The cores that are not switched off."""
        return [core for core in self.cores if core.number not in self.off]

    def run_words(self, queues: Sequence[Mapping[Engine, Sequence[int]]]) -> None:
        self.check_queues(queues)
        for core, words in zip(self.cores, queues, strict=True):
            core.run_words(words)

    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> list[Counters]:
        for core in self._on:
            core.prepare()
        result = self.harness.run_cores(
            [[core.queues[engine] for engine in ENGINES] for core in self._on],
            [self.config.host_address(0, core=core.number) for core in self._on],
            **run_registers(self.config), active_mask=status_mask("active"),
            max_cycles=max_cycles)
        self._check(result, max_cycles)
        counters = [Counters() for _ in self.cores]
        for core in self._on:
            counters[core.number] = core.counters()
            core.finish(counters[core.number])
        return counters

    def _check(self, result: ClusterResult, max_cycles: int) -> None:
        """Raise what the outcome says."""
        if result.outcome == Outcome.OK:
            return
        if result.outcome == Outcome.EXT_FAULT:
            raise HarnessError(f"the chip accessed {self.harness.ext_fault:#x}, "
                               "which is outside external memory or not aligned")
        if result.outcome == Outcome.NO_ANSWER:
            raise StuckError("the host port does not answer")
        statuses = {core.number: status
                    for core, status in zip(self._on, result.statuses, strict=True)}
        failures = {number: stopped(status) for number, status in statuses.items()
                    if status_field(status, "error")}
        others = ". ".join(f"{core_name(self.config, number)}: {self.cores[number].waiting(status)}"
                           for number, status in statuses.items()
                           if number not in failures and not status_field(status, "idle"))
        if failures:
            raise ClusterError(self.config, failures, others)
        if result.outcome == Outcome.TIMEOUT:
            raise StuckError(f"not finished after {max_cycles} cycles: {others}")
        raise StuckError(f"no core can go on: {others}")


class _Core(RtlCore):
    """A core of a cluster. Its commands run with those of all others."""

    def __init__(self, config: Config, cluster: RtlCluster, number: int):
        super().__init__(config, cluster.harness, number)
        self._cluster = cluster

    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> Counters:
        return self._cluster.wait(max_cycles)[self.number]

    def prepare(self) -> None:
        """Words are pushed before the start; those of an earlier run must not start with them."""
        self.write_register(Register.CONTROL, 0)
        self.read_register(Register.CONTROL)


