"""The RTL device: the generated chip in Verilator."""
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from systolith.hw.config import EXTERNAL_BIT, Config, Region
from systolith.hw.isa import ENGINES, Control, Engine, Register
from systolith.sim.chip import chip_verilog
from systolith.sim.harness import Harness, HarnessError, Outcome
from systolith.sim.progress import Progress
from systolith.sim.trace import Recorder
from systolith.sim.verilate import build_simulator
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Memory, StuckError
from systolith.sw.runtime.registers import RegisterDevice, status_mask, stopped
from systolith.sw.runtime.waiting import describe


class RtlDevice(RegisterDevice):
    """The chip in Verilator, with an external memory. Use it in a ``with`` statement.

    Parameters
    ----------
    config : Config
        Sizes of the chip, which is generated and built when the cache does not have it.
    latency : int
        Cycles from a read request of external memory to its data.
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
    harness : Harness
        The simulated chip, for accesses that the driver does not make.

    Raises
    ------
    ToolchainError
        When the chip cannot be built.
    """

    name = "rtl"

    def __init__(self, config: Config, *, latency: int = 8, stall_percent: int = 0, seed: int = 0,
                 trace: bool = False, progress: Progress | None = None):
        progress = progress or Progress(quiet=True)
        self.config = config
        library = build_simulator(chip_verilog(config, progress=progress),
                                  bus_bytes=config.bus_bytes, probes=not config.compact,
                                  trace=trace,
                                  progress=progress)
        self.harness = Harness(library, ext_bytes=config.ext_bytes, latency=latency,
                                stall_percent=stall_percent, seed=seed)
        self.harness.reset()
        self._recorder: Recorder | None = None
        self._forget()

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

    def _forget(self) -> None:
        """The queues are empty and nothing is counted."""
        self._queues: dict[Engine, list[int]] = {engine: [] for engine in ENGINES}
        self._retired = dict.fromkeys(ENGINES, 0)

    # Registers -----------------------------------------------------------------------------

    def read_register(self, offset: int) -> int:
        return self.harness.host_read(self.config.host_address(Region.REGISTERS, offset))

    def write_register(self, offset: int, value: int) -> None:
        self.harness.host_write(self.config.host_address(Region.REGISTERS, offset), value)

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

    def _through_host(self, memory: Memory) -> bool:
        """Whether the host's port leads there: a compact core has its external memory inside."""
        return isinstance(memory, Region) or self.config.compact

    def _address(self, memory: Memory, offset: int) -> int:
        if isinstance(memory, Region):
            return self.config.host_address(memory, offset)
        return 1 << EXTERNAL_BIT | offset

    # Commands ------------------------------------------------------------------------------

    def run_words(self, queues: Mapping[Engine, Sequence[int]]) -> None:
        for engine, words in queues.items():
            self._queues[engine].extend(words)
            if self._recorder:
                self._recorder.sent(engine, words)

    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> Counters:
        # Words are pushed before the start; those of an earlier run must not start with them.
        self.write_register(Register.CONTROL, 0)
        before, queues = dict(self._retired), dict(self._queues)
        result = self.harness.run_queues(
            [queues[engine] for engine in ENGINES],
            windows=[self.config.host_address(Region.QUEUES, 4 * engine) for engine in ENGINES],
            **{f"{name}_address": self.config.host_address(Region.REGISTERS, register)
               for name, register in (("space", Register.QUEUE_SPACE),
                                      ("control", Register.CONTROL),
                                      ("status", Register.STATUS))},
            control_value=Control.RUN | Control.CLEAR_COUNTERS,
            idle_mask=status_mask("idle"), error_mask=status_mask("error"),
            max_cycles=max_cycles)
        if result.outcome == Outcome.ERROR:
            raise stopped(result.status)
        if result.outcome == Outcome.EXT_FAULT:
            raise HarnessError(f"the chip accessed {self.harness.ext_fault:#x}, "
                               "which is outside external memory or not aligned")
        if result.outcome == Outcome.NO_ANSWER:
            raise StuckError("the host port does not answer")
        counters = self.counters()
        if result.outcome == Outcome.TIMEOUT:
            raise StuckError(f"not finished after {max_cycles} cycles: " + describe(
                result.status, self.semaphores(), queues, counters, before))
        self._queues = {engine: [] for engine in ENGINES}
        for engine in ENGINES:
            self._retired[engine] += counters.engines[engine].commands
        return counters

    def reset(self) -> None:
        self.write_register(Register.CONTROL, Control.RESET)
        if self._recorder:
            self._recorder.reset()
        self._forget()


def _limit(size: int) -> int:
    """Cycles in which the host port has certainly moved so many bytes, stalls included."""
    return 100_000 + 200 * size
