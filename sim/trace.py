"""What the engines of the chip did, cycle by cycle, as NumPy arrays."""
import dataclasses
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, WORDS, Command, Engine, decode_stream
from systolith.sim.harness import Harness
from systolith.sw.runtime.device import Counters, EngineCounters

#: One command: it starts in cycle ``start`` and has retired in cycle ``end``.
COMMANDS = np.dtype([("engine", "u1"), ("index", "<u4"), ("start", "<u8"), ("end", "<u8")])
#: An engine is in a state from ``start`` up to, not including, ``end``. ``missing``: a mask of the
#: semaphores that it waits for; 0 when another engine was served first.
STATES = np.dtype([("engine", "u1"), ("state", "u1"), ("start", "<u8"), ("end", "<u8"),
                   ("missing", "<u2")])
#: Something has ``value`` from ``cycle`` on.
CHANGES = np.dtype([("cycle", "<u8"), ("value", "<u8")])


class State(enum.IntEnum):
    """What a cycle of an engine counts as; the numbers of ``State`` in ``recorder.h``."""

    IDLE = 0
    BUSY = 1
    STALL = 2
    WAIT = 3
    FENCE = 4


class Channel(enum.IntEnum):
    """Where events of a kind begin in a recording; the numbers of ``Channel`` in ``recorder.h``."""

    STATE = 0
    QUEUE = 3
    START = 6
    END = 9
    READ = 12
    WRITE = 13
    RUN = 14
    SEMAPHORE = 15


@dataclass(frozen=True)
class Trace:
    """A recording of one or more runs. Time is in cycles that the chip's counters count.

    Attributes
    ----------
    config : Config
    cycles : int
        Length of the recording.
    program : mapping of Engine to tuple of Command
        The commands that were sent to each engine, in order.
    commands : array of COMMANDS
        Every command that started, by engine and index. Commands of an engine overlap: the next
        one starts while the results of the one before are under way. One that has not retired
        ends with the recording.
    states : array of STATES
        Without gap and overlap over the whole recording, engine by engine.
    queues : mapping of Engine to array of CHANGES
        Command words in the queue.
    semaphores : tuple of array of CHANGES
        Value of each semaphore.
    reads, writes : array of CHANGES
        1 in a cycle in which a beat came from external memory, or went there, else 0.
    runs : array of CHANGES
        First cycle of each run, and as ``value`` the simulator's clock in that cycle.
    """

    config: Config
    cycles: int
    program: Mapping[Engine, tuple[Command, ...]]
    commands: NDArray
    states: NDArray
    queues: Mapping[Engine, NDArray]
    semaphores: tuple[NDArray, ...]
    reads: NDArray
    writes: NDArray
    runs: NDArray

    def commands_of(self, engine: Engine) -> NDArray:
        """The commands of one engine; row ``i`` is its command ``i``."""
        return self.commands[self.commands["engine"] == engine]

    def states_of(self, engine: Engine) -> NDArray:
        """The states of one engine, in the order of time."""
        return self.states[self.states["engine"] == engine]

    def cycles_in(self, engine: Engine, state: State) -> int:
        """Cycles that an engine spends in a state."""
        rows = self.states_of(engine)
        rows = rows[rows["state"] == state]
        return int((rows["end"] - rows["start"]).sum())

    def counters(self) -> Counters:
        """What the chip's counters show after the recorded runs, summed over them."""
        engines = {engine: EngineCounters(
            busy=self.cycles_in(engine, State.BUSY), stall=self.cycles_in(engine, State.STALL),
            wait_semaphore=self.cycles_in(engine, State.WAIT),
            wait_fence=self.cycles_in(engine, State.FENCE),
            commands=len(self.commands_of(engine))) for engine in ENGINES}
        beats = sum(total(changes, self.cycles) for changes in (self.reads, self.writes))
        return Counters(self.cycles, beats * self.config.bus_bytes, engines)

    def part(self, start: int, end: int) -> "Trace":
        """The cycles from ``start`` up to, not including, ``end``; they keep their numbers.

        What began before or goes on after is cut off at the borders.
        """
        cut = {name: _clip(getattr(self, name), start, end) for name in ("commands", "states")}
        return dataclasses.replace(
            self, **cut, cycles=min(self.cycles, end),
            queues={engine: _window(each, start, end) for engine, each in self.queues.items()},
            semaphores=tuple(_window(each, start, end) for each in self.semaphores),
            reads=_window(self.reads, start, end), writes=_window(self.writes, start, end))


def total(changes: NDArray, cycles: int) -> int:
    """Sum of a value over all cycles of a recording that ends at ``cycles``."""
    lengths = np.diff(changes["cycle"], append=np.uint64(cycles))
    return int((lengths * changes["value"]).sum())


def _clip(rows: NDArray, start: int, end: int) -> NDArray:
    kept = rows[(rows["end"] > start) & (rows["start"] < end)].copy()
    kept["start"] = np.maximum(kept["start"], start)
    kept["end"] = np.minimum(kept["end"], end)
    return kept


def _window(changes: NDArray, start: int, end: int) -> NDArray:
    first = max(int(np.searchsorted(changes["cycle"], start, "right")) - 1, 0)
    kept = changes[first:np.searchsorted(changes["cycle"], end)].copy()
    kept["cycle"] = np.maximum(kept["cycle"], start)
    return kept


class Recorder:
    """Starts a recording of a chip at creation and turns it into a :class:`Trace`.

    Parameters
    ----------
    harness : Harness
        The chip, built with probes, and idle.
    config : Config
        Its configuration.
    """

    def __init__(self, harness: Harness, config: Config):
        self._harness, self._config = harness, config
        self._words: dict[Engine, list[int]] = {engine: [] for engine in ENGINES}
        harness.record(semaphores=config.semaphores, semaphore_width=config.semaphore_width)

    def sent(self, engine: Engine, words: Sequence[int]) -> None:
        """Take note of command words that were sent to an engine."""
        self._words[engine].extend(words)

    def reset(self) -> None:
        """Take note of a reset of the core: commands that have not started never will."""
        for engine in ENGINES:
            started = len(self._harness.recorded(Channel.START + engine))
            del self._words[engine][started * WORDS[engine]:]

    def trace(self) -> Trace:
        """What was recorded so far."""
        config, cycles = self._config, self._harness.recorded_cycles
        return Trace(
            config, cycles,
            program={engine: tuple(decode_stream(engine, words))
                     for engine, words in self._words.items()},
            commands=np.concatenate([self._commands(engine, cycles) for engine in ENGINES]),
            states=np.concatenate([self._states(engine, cycles) for engine in ENGINES]),
            queues={engine: self._queue(engine) for engine in ENGINES},
            semaphores=tuple(self._changes(Channel.SEMAPHORE + index)
                             for index in range(config.semaphores)),
            reads=self._changes(Channel.READ), writes=self._changes(Channel.WRITE),
            runs=self._changes(Channel.RUN))

    def close(self) -> None:
        """Stop recording."""
        self._harness.record_end()

    def _changes(self, channel: int) -> NDArray:
        # The two types have the same two members under different names.
        return self._harness.recorded(channel).view(CHANGES)

    def _queue(self, engine: Engine) -> NDArray:
        changes = self._changes(Channel.QUEUE + engine).copy()
        changes["value"] = self._config.queue_depth - changes["value"]
        return changes

    def _commands(self, engine: Engine, cycles: int) -> NDArray:
        starts = self._changes(Channel.START + engine)["cycle"]
        ends = self._changes(Channel.END + engine)["cycle"]
        rows = np.empty(len(starts), COMMANDS)
        rows["engine"], rows["index"], rows["start"] = engine, np.arange(len(starts)), starts
        rows["end"] = cycles
        # A command is done after the cycle in which it retires.
        rows["end"][:len(ends)] = ends + 1
        return rows

    def _states(self, engine: Engine, cycles: int) -> NDArray:
        changes = self._changes(Channel.STATE + engine)
        rows = np.empty(len(changes), STATES)
        rows["engine"], rows["state"] = engine, changes["value"] & 0xFF
        rows["missing"], rows["start"] = changes["value"] >> 8, changes["cycle"]
        rows["end"] = np.append(changes["cycle"][1:], cycles)
        return rows
