"""The RTL device: the generated chip in Verilator."""
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from systolith.hw.config import EXTERNAL_BIT, Config, ConfigError, Region
from systolith.hw.isa import ENGINES, Control, Engine, Register
from systolith.sim.chip import chip_verilog
from systolith.sim.harness import Harness, HarnessError, Outcome
from systolith.sim.progress import Progress
from systolith.sim.trace import Recorder
from systolith.sim.verilate import build_simulator
from systolith.sw.estimate import ExternalMemory
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Memory, StuckError
from systolith.sw.runtime.registers import RegisterDevice, status_mask, stopped
from systolith.sw.runtime.waiting import describe


class RtlCore(RegisterDevice):
    """A core of a simulated chip: its registers and memories, and the queues of the next run.

    Parameters
    ----------
    config : Config
        Sizes of the chip.
    harness : Harness
        The chip.
    number : int
        Which of its cores.
    """

    name = "rtl"

    def __init__(self, config: Config, harness: Harness, number: int = 0):
        self.config, self.harness, self.number = config, harness, number
        self._forget()

    def _forget(self) -> None:
        """The queues are empty and nothing is counted."""
        self.queues: dict[Engine, list[int]] = {engine: [] for engine in ENGINES}
        self._retired = dict.fromkeys(ENGINES, 0)

    def _address(self, memory: Memory, offset: int) -> int:
        if isinstance(memory, Region):
            return self.config.host_address(memory, offset, core=self.number)
        return 1 << EXTERNAL_BIT | offset

    def _through_host(self, memory: Memory) -> bool:
        """Whether the host's port leads there: a compact core has its external memory inside."""
        return isinstance(memory, Region) or self.config.compact

    # Registers -----------------------------------------------------------------------------

    def read_register(self, offset: int) -> int:
        return self.harness.host_read(self._address(Region.REGISTERS, offset))

    def write_register(self, offset: int, value: int) -> None:
        self.harness.host_write(self._address(Region.REGISTERS, offset), value)

    # Memories ------------------------------------------------------------------------------

    def write(self, memory: Memory, offset: int, data: bytes) -> None:
        self.check_range(memory, offset, len(data))
        if self._through_host(memory):
            self.harness.host_write(self._address(memory, offset),
                                    np.frombuffer(data, "<u4"), limit=_limit(len(data)))
        else:
            self.harness.write_ext(offset, data)

    def read(self, memory: Memory, offset: int, size: int) -> bytes:
        self.check_range(memory, offset, size)
        if not self._through_host(memory):
            return self.harness.read_ext(offset, size).tobytes()
        if size == 0:
            return b""
        words = self.harness.host_read(self._address(memory, offset), size // 4,
                                       limit=_limit(size))
        return words.astype("<u4").tobytes()

    # Commands ------------------------------------------------------------------------------

    def run_words(self, queues: Mapping[Engine, Sequence[int]]) -> None:
        for engine, words in queues.items():
            self.queues[engine].extend(words)

    def finish(self, counters: Counters) -> None:
        """A run has ended well: its commands have retired."""
        self.queues = {engine: [] for engine in ENGINES}
        for engine in ENGINES:
            self._retired[engine] += counters.engines[engine].commands

    def waiting(self, status: int) -> str:
        """What each engine waits for."""
        return describe(status, self.semaphores(), self.queues, self.counters(), self._retired)

    def reset(self) -> None:
        self.write_register(Register.CONTROL, Control.RESET)
        self._forget()


def run_registers(config: Config) -> dict[str, Any]:
    """What :meth:`Harness.run_queues` must know of the registers of core 0."""
    return {
        "windows": [config.host_address(Region.QUEUES, 4 * engine) for engine in ENGINES],
        **{f"{name}_address": config.host_address(Region.REGISTERS, register)
           for name, register in (("space", Register.QUEUE_SPACE), ("control", Register.CONTROL),
                                  ("status", Register.STATUS))},
        "control_value": Control.RUN | Control.CLEAR_COUNTERS,
        "idle_mask": status_mask("idle"), "error_mask": status_mask("error")}


class RtlDevice(RtlCore):
    """The chip in Verilator, with an external memory. Use it in a ``with`` statement.

    Parameters
    ----------
    config : Config
        Sizes of the chip, which is generated and built when the cache does not have it.
    external : ExternalMemory, optional
        How external memory behaves.
    stall_percent : int
        Share of the cycles, 0 to 95, in which host and external memory hold back at random.
    seed : int
        Seed of those stalls.
    trace : bool
        Build with waves; :meth:`trace` writes them.
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
    ConfigError
        When the chip has several cores.
    ToolchainError
        When the chip cannot be built.
    """

    def __init__(self, config: Config, *, external: ExternalMemory | None = None,
                 stall_percent: int = 0, seed: int = 0, trace: bool = False,
                 progress: Progress | None = None):
        if config.cores > 1:
            raise ConfigError(f"{config.name!r} has {config.cores} cores, and this needs a single "
                              "one; choose a configuration without a mesh")
        progress = progress or Progress(quiet=True)
        library = build_simulator(chip_verilog(config, progress=progress),
                                  bus_bytes=config.bus_bytes, probes=not config.compact,
                                  trace=trace,
                                  progress=progress)
        self.external = external or ExternalMemory()
        harness = Harness(library, ext_bytes=config.ext_bytes, latency=self.external.latency,
                          gap=self.external.gap(config), stall_percent=stall_percent, seed=seed)
        harness.reset()
        super().__init__(config, harness)
        self._recorder: Recorder | None = None

    def __enter__(self) -> "RtlDevice":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Free the simulated chip."""
        self.harness.close()

    def trace(self, path: Path, first: int = 0, last: int | None = None) -> None:
        """Write a VCD from here on until :meth:`close`; needs ``trace=True``. For ``first`` and
        ``last`` see :meth:`Harness.trace_open`."""
        self.harness.trace_open(path, first, last)

    @contextmanager
    def record(self) -> Iterator[Recorder]:
        """Record all runs inside the ``with`` block; ask the recorder for its trace before the end.

        Raises
        ------
        HarnessError
            When a recording is going on.
        """
        if self._recorder:
            raise HarnessError("a recording is going on already; end it first")
        self._recorder = Recorder(self.harness, self.config)
        try:
            yield self._recorder
        finally:
            self._recorder.close()
            self._recorder = None

    def run_words(self, queues: Mapping[Engine, Sequence[int]]) -> None:
        super().run_words(queues)
        for engine, words in queues.items():
            if self._recorder:
                self._recorder.sent(engine, words)

    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> Counters:
        # Words are pushed before the start; those of an earlier run must not start with them.
        self.write_register(Register.CONTROL, 0)
        result = self.harness.run_queues([self.queues[engine] for engine in ENGINES],
                                         **run_registers(self.config), max_cycles=max_cycles)
        if result.outcome == Outcome.ERROR:
            raise stopped(result.status)
        if result.outcome == Outcome.EXT_FAULT:
            raise HarnessError(f"the chip accessed {self.harness.ext_fault:#x}, "
                               "which is outside external memory or not aligned")
        if result.outcome == Outcome.NO_ANSWER:
            raise StuckError("the host port does not answer")
        if result.outcome == Outcome.TIMEOUT:
            raise StuckError(f"not finished after {max_cycles} cycles: "
                             + self.waiting(result.status))
        counters = self.counters()
        self.finish(counters)
        return counters

    def reset(self) -> None:
        super().reset()
        if self._recorder:
            self._recorder.reset()


def _limit(size: int) -> int:
    """Cycles in which the host port has certainly moved so many bytes, stalls included."""
    return 100_000 + 200 * size
