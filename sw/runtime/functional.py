"""The functional device: executes command streams in NumPy, bit for bit as the hardware does."""
from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from systolith.hw.config import MEMORIES, Config
from systolith.hw.isa import ENGINES, WORDS, Cause, Command, CommandError, Engine, decode
from systolith.sw.reference.addressing import CommandFault, check
from systolith.sw.runtime.device import (
    DEFAULT_MAX_CYCLES,
    Counters,
    Device,
    DeviceError,
    EngineCounters,
    Memory,
    StuckError,
)
from systolith.sw.runtime.execute import Memories, execute


class FunctionalDevice(Device):
    """NumPy implementation of :class:`Device`. It has no notion of time: ``cycles`` is 0.

    Engines run their commands in turn as their semaphores allow; a program whose order is fully
    fixed by semaphores (the verifier proves it) gives the same bytes as on the hardware.
    """

    name = "functional"

    def __init__(self, config: Config, *, memories: Memories | None = None):
        self.config = config
        self.memories = memories or Memories.empty(config)
        self.reset()

    def reset(self) -> None:
        self._semaphores = np.zeros(self.config.semaphores, dtype=np.int64)
        self._queues: dict[Engine, list[int]] = {engine: [] for engine in ENGINES}
        self._done = dict.fromkeys(ENGINES, 0)
        self.failure: DeviceError | None = None
        self._clear_counters()

    def _clear_counters(self) -> None:
        self._busy = dict.fromkeys(ENGINES, 0)
        self._commands = dict.fromkeys(ENGINES, 0)
        self._bytes = 0

    def write(self, memory: Memory, offset: int, data: bytes) -> None:
        self.check_range(memory, offset, len(data))
        self.memories.raw(memory)[offset:offset + len(data)] = np.frombuffer(data, dtype=np.uint8)

    def read(self, memory: Memory, offset: int, size: int) -> bytes:
        self.check_range(memory, offset, size)
        return self.memories.raw(memory)[offset:offset + size].tobytes()

    def run_words(self, queues: Mapping[Engine, Sequence[int]]) -> None:
        self._clear_counters()
        for engine, words in queues.items():
            self._queues[engine].extend(words)

    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> Counters:
        if self.failure is not None:
            raise self.failure
        while not self.finished:
            if not self.step():
                raise StuckError(f"no engine can go on: {self.waiting()}")
        return self.counters()

    @property
    def finished(self) -> bool:
        """Whether all queues are empty."""
        return not any(self._queues.values())

    def step(self) -> bool:
        """Run the next command of each engine that may start; whether there was one.

        Raises
        ------
        DeviceError
            When a command is at fault; ``failure`` keeps it until the core is reset.
        """
        # A sum, so that every engine gets its turn.
        return sum(map(self._step, ENGINES)) > 0

    def execute(self, command: Command) -> tuple[int, int]:
        """Carry out a checked command; (beats issued, bytes moved)."""
        return execute(command, self.memories)

    def counters(self) -> Counters:
        return Counters(move_bytes=self._bytes, engines={
            engine: EngineCounters(busy=self._busy[engine], commands=self._commands[engine])
            for engine in ENGINES})

    def _step(self, engine: Engine) -> bool:
        """Run the engine's next command if it may start; whether it did."""
        words = self._queues[engine][:WORDS[engine]]
        if not words:
            return False
        command = self._decode(engine, words)
        wait = _indices(command.wait)
        if wait and min(self._semaphores[wait]) == 0:
            return False
        self._semaphores[wait] -= 1
        try:
            check(command, self.config)
        except CommandFault as fault:
            self._stop(engine, fault.cause, str(fault))
        beats, moved = self.execute(command)
        self.signal(engine, command.signal)
        del self._queues[engine][:len(words)]
        self._done[engine] += 1
        self._commands[engine] += 1
        self._busy[engine] += beats
        self._bytes += moved
        return True

    def _decode(self, engine: Engine, words: list[int]) -> Command:
        try:
            return decode(engine, words)
        except CommandError as error:
            self._stop(engine, Cause.UNKNOWN_OPCODE, str(error))

    def signal(self, engine: Engine, mask: int) -> None:
        """Increment semaphores for ``engine``; HOST: what comes from outside of the core."""
        semaphores = _indices(mask)
        self._semaphores[semaphores] += 1
        full = 1 << self.config.semaphore_width
        if semaphores and max(self._semaphores[semaphores]) >= full:
            self._stop(engine, Cause.SEMAPHORE_OVERFLOW, f"a semaphore holds at most {full - 1}")

    def _stop(self, engine: Engine, cause: Cause, detail: str) -> NoReturn:
        self.failure = DeviceError(engine, cause, self._done.get(engine, 0), detail)
        raise self.failure

    def waiting(self) -> str:
        """What each engine waits for, in one line."""
        parts = []
        for engine in ENGINES:
            words = self._queues[engine][:WORDS[engine]]
            if not words:
                parts.append(f"{engine.name} has finished")
                continue
            missing = [s for s in _indices(decode(engine, words).wait) if not self._semaphores[s]]
            parts.append(f"{engine.name} command {self._done[engine]} waits for semaphore "
                         f"{', '.join(map(str, missing))}" if missing else
                         f"{engine.name} command {self._done[engine]} could go on")
        return "; ".join(parts)


def _indices(mask: int) -> list[int]:
    return [bit for bit in range(16) if mask >> bit & 1]


def compare_memories(a: Device, b: Device, limit: int | None = None) -> list[str]:
    """Names of the memories whose bytes differ between two devices of one configuration.

    ``limit`` bytes of each are compared, from the first on; all by default.
    """
    sizes = {region: min(a.size(region), limit or a.size(region)) for region in MEMORIES}
    return [region.name for region, size in sizes.items()
            if a.read(region, 0, size) != b.read(region, 0, size)]
