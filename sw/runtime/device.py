"""The abstract device: what every implementation of the accelerator offers to the driver."""
import abc
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from systolith.hw.config import Config, Region
from systolith.hw.isa import ENGINES, Cause, Command, Engine

#: A memory of the core, or ``"ext"``: the external memory.
Memory = Region | str

#: Cycles after which a run is given up when the caller sets no limit.
DEFAULT_MAX_CYCLES = 50_000_000


class DeviceError(RuntimeError):
    """The core stopped on a command.

    Attributes
    ----------
    engine : Engine
        Which engine stopped, or ``HOST`` for an access of the host.
    cause : Cause
        Why.
    index : int
        The command's index in its engine's queue since the last reset.
    """

    def __init__(self, engine: Engine, cause: Cause, index: int, detail: str = "", *,
                 core: str = "the core"):
        text = f"{core} stopped: {engine.name} command {index}: {cause.name}"
        super().__init__(f"{text} ({detail})" if detail else text)
        self.engine, self.cause, self.index = engine, cause, index


class StuckError(RuntimeError):
    """A run did not end: a deadlock, or the cycle limit. Says what each engine waits for."""


@dataclass(frozen=True)
class EngineCounters:
    """Cycles of one engine by state, and commands retired. The functional device counts beats as
    ``busy`` and leaves the rest 0."""

    busy: int = 0
    wait_semaphore: int = 0
    wait_fence: int = 0
    stall: int = 0
    commands: int = 0


@dataclass(frozen=True)
class Counters:
    """The core's counters. ``cycles`` is 0 on the functional device, which has no time."""

    cycles: int = 0
    move_bytes: int = 0
    engines: Mapping[Engine, EngineCounters] = field(
        default_factory=lambda: {engine: EngineCounters() for engine in ENGINES})


def sum_counters(counters: Sequence[Counters]) -> Counters:
    """The sum over several runs."""
    engines = {engine: EngineCounters(*map(sum, zip(
        *(dataclasses.astuple(each.engines[engine]) for each in counters), strict=True)))
        for engine in ENGINES}
    return Counters(sum(each.cycles for each in counters),
                    sum(each.move_bytes for each in counters), engines)


def slowest(counters: Sequence[Counters]) -> Counters:
    """The counters of cores that run side by side: the cycles are those of the slowest, all else
    is added."""
    return dataclasses.replace(sum_counters(counters), cycles=max(each.cycles for each in counters))


#: Commands (or raw words) of each engine.
Queues = Mapping[Engine, Sequence[Command]]


class Device(abc.ABC):
    """One core with its memories. A compiled program runs unchanged on every implementation."""

    #: Name under which the command line knows it.
    name: str
    config: Config

    @abc.abstractmethod
    def write(self, memory: Memory, offset: int, data: bytes) -> None:
        """Write bytes at a byte offset; offset and size are multiples of 4.

        Raises
        ------
        ValueError
            When the range is misaligned or leaves the memory.
        """

    @abc.abstractmethod
    def read(self, memory: Memory, offset: int, size: int) -> bytes:
        """Read bytes at a byte offset; offset and size are multiples of 4."""

    @abc.abstractmethod
    def run_words(self, queues: Mapping[Engine, Sequence[int]]) -> None:
        """Start raw command words, each engine's in order. :meth:`wait` must follow."""

    @abc.abstractmethod
    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> Counters:
        """Wait until all commands have retired; the counters of this run.

        Raises
        ------
        DeviceError
            When the core stopped on a command; :meth:`reset` makes it usable again.
        StuckError
            When it did not end within ``max_cycles``.
        """

    @abc.abstractmethod
    def counters(self) -> Counters:
        """Counters since the last start of a run."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Stop all engines, empty queues and semaphores. Memories keep their content."""

    def run(self, queues: Queues) -> None:
        """Encode and start commands. :meth:`wait` must follow."""
        self.run_words({engine: [word for command in commands for word in command.encode()]
                        for engine, commands in queues.items()})

    def size(self, memory: Memory) -> int:
        """Bytes of a memory."""
        if isinstance(memory, Region):
            return self.config.region_bytes(memory)
        return self.config.ext_bytes

    def check_range(self, memory: Memory, offset: int, size: int) -> None:
        """Raise ValueError when an access of the host is misaligned or leaves the memory."""
        name = memory.name if isinstance(memory, Region) else "external memory"
        if offset % 4 or size % 4:
            raise ValueError(f"offset {offset} and size {size} in {name} must be multiples of 4")
        if offset < 0 or size < 0 or offset + size > self.size(memory):
            raise ValueError(f"bytes {offset} to {offset + size} leave {name}, "
                             f"which has {self.size(memory)}")
