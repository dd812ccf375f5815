"""Proves a command stream free of deadlock, races and stray addresses, or names the command.

The order that the hardware guarantees is that of vector clocks (Mattern, 1989; Fidge, 1988): a
command starts after those before it in its queue have started, after all of them have retired where
it has a ``fence``, and after the commands whose signals it waits for have retired. Every semaphore
belongs to one signalling and one waiting engine, so its k-th wait takes the k-th signal and the
order does not depend on timing.
"""
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config, Region
from systolith.hw.isa import ENGINES, Command, CommandError, Engine, Pass, Reduce, Sink, Source
from systolith.sw.compiler.schedule import tracked
from systolith.sw.reference import addressing
from systolith.sw.reference.addressing import Access, CommandFault

Queues = Mapping[Engine, Sequence[Command]]
Clock = tuple[int, ...]
Position = tuple[Engine, int]


class VerifyError(ValueError):
    """A stream that must not reach the hardware. ``engine`` and ``index`` name the command."""

    def __init__(self, engine: Engine, index: int, reason: str):
        super().__init__(f"{engine.name} command {index}: {reason}")
        self.engine, self.index = engine, index


@dataclass(frozen=True)
class Proof:
    """What was verified: commands, words checked for races, deepest semaphore."""

    commands: int
    words: int
    deepest_semaphore: int


def verify(config: Config, queues: Queues) -> Proof:
    """Check a whole stream.

    Returns
    -------
    Proof
        When nothing is wrong.

    Raises
    ------
    VerifyError
        Naming the offending command and the reason.
    """
    for engine in ENGINES:
        for index, command in enumerate(queues.get(engine, ())):
            _check_alone(config, engine, index, command)
    channels = _channels(config, queues)
    order, clocks = _execute(queues, channels)
    deepest = _check_depth(config, channels, clocks)
    words = _Races(config, queues, clocks).check(order)
    return Proof(len(order), words, deepest)


# One command by itself -------------------------------------------------------------------------

def _check_alone(config: Config, engine: Engine, index: int, command: Command) -> None:
    if command.ENGINE != engine:
        raise VerifyError(engine, index, f"{command.OPCODE.name} belongs to {command.ENGINE.name}")
    try:
        command.encode()
        addressing.check(command, config)
    except (CommandError, CommandFault) as error:
        raise VerifyError(engine, index, str(error)) from None
    for name in ("wait", "signal"):
        if getattr(command, name) >> config.semaphores:
            raise VerifyError(engine, index, f"{name} mask {getattr(command, name):#x} names a "
                              f"semaphore past the last, {config.semaphores - 1}")
    if isinstance(command, Pass):
        _check_self(config, engine, index, command)


def _check_self(config: Config, engine: Engine, index: int, command: Pass) -> None:
    """A pass must not read a word after it wrote it: in the pipeline the read may come first."""
    if command.sink == Sink.VEC:
        written = addressing.sink_words(command, config).ravel()
        read = None
        if command.source == Source.VEC:
            read = addressing.source_words(command, config).ravel()
        elif addressing.uses_stream(command):
            read = addressing.stream_words(command).ravel()
        if read is not None:
            _check_read_first(engine, index, "VEC", read, written)
    if command.reduce != Reduce.NONE and addressing.uses_row(command):
        rows = np.arange(command.rows)
        _check_read_first(engine, index, "ROW", command.row_read + rows, command.row_write + rows)


def _check_read_first(engine: Engine, index: int, memory: str, read: NDArray[np.int64],
                      written: NDArray[np.int64]) -> None:
    size = int(max(read.max(), written.max())) + 1
    last_read = np.full(size, -1)
    last_read[read] = np.arange(len(read))
    late = last_read[written] > np.arange(len(written))
    if late.any():
        raise VerifyError(engine, index, f"reads {memory} word {int(written[late.argmax()])} after "
                          "writing it in the same pass")


# Semaphores --------------------------------------------------------------------------------------

@dataclass
class _Channel:
    """One semaphore: who signals and who waits, as command indices in order."""

    signals: list[Position]
    waits: list[Position]


def _channels(config: Config, queues: Queues) -> dict[int, _Channel]:
    channels = {semaphore: _Channel([], []) for semaphore in range(config.semaphores)}
    for engine in ENGINES:
        for index, command in enumerate(queues.get(engine, ())):
            for semaphore, channel in channels.items():
                if command.signal >> semaphore & 1:
                    channel.signals.append((engine, index))
                if command.wait >> semaphore & 1:
                    channel.waits.append((engine, index))
    for semaphore, channel in channels.items():
        _check_channel(semaphore, channel)
    return channels


def _check_channel(semaphore: int, channel: _Channel) -> None:
    for users, verb in ((channel.signals, "signalled"), (channel.waits, "waited for")):
        for engine, index in users:
            if engine != users[0][0]:
                raise VerifyError(engine, index, f"semaphore {semaphore} is {verb} by "
                                  f"{users[0][0].name} too; each needs one engine on either side")
    signals, waits = len(channel.signals), len(channel.waits)
    if waits > signals:
        engine, index = channel.waits[signals]
        raise VerifyError(engine, index, f"waits for semaphore {semaphore} which nobody signals "
                          f"({signals} signals, {waits} waits)")
    if signals > waits:
        engine, index = channel.signals[waits]
        raise VerifyError(engine, index, f"signals semaphore {semaphore} which nobody waits for "
                          f"({signals} signals, {waits} waits)")


def _execute(queues: Queues, channels: dict[int, _Channel]
             ) -> tuple[list[Position], dict[Position, Clock]]:
    """An order in which all commands can run, and the clock of each at its start.

    Entry ``e`` of a clock: how many commands of engine ``e`` are known to have retired.
    """
    needs: dict[Position, list[Position]] = {}
    for channel in channels.values():
        for waiter, signaller in zip(channel.waits, channel.signals, strict=True):
            needs.setdefault(waiter, []).append(signaller)
    clocks: dict[Position, Clock] = {}
    order: list[Position] = []
    heads = dict.fromkeys(ENGINES, 0)
    progress = True
    while progress:
        progress = False
        for engine in ENGINES:
            queue = queues.get(engine, ())
            while heads[engine] < len(queue):
                here = (engine, heads[engine])
                if any(needed not in clocks for needed in needs.get(here, ())):
                    break
                clocks[here] = _start_clock(here, queue[here[1]], needs.get(here, ()), clocks)
                order.append(here)
                heads[engine] += 1
                progress = True
    _check_finished(queues, heads, needs, clocks)
    return order, clocks


def _start_clock(here: Position, command: Command, needed: Sequence[Position],
                 clocks: dict[Position, Clock]) -> Clock:
    engine, index = here
    clock = list(clocks[engine, index - 1]) if index else [0] * len(ENGINES)
    if command.fence:
        clock[engine] = index
    for other, position in needed:
        known = list(clocks[other, position])
        # Retirement is in order, so everything before the signaller has retired, too.
        known[other] = position + 1
        clock = [max(pair) for pair in zip(clock, known, strict=True)]
    return tuple(clock)


def _check_finished(queues: Queues, heads: dict[Engine, int], needs: dict[Position, list[Position]],
                    clocks: dict[Position, Clock]) -> None:
    stuck = [(engine, heads[engine]) for engine in ENGINES
             if heads[engine] < len(queues.get(engine, ()))]
    if stuck:
        parts = [f"{engine.name} command {index} waits for "
                 + " and ".join(f"{e.name} command {i}" for e, i in needs[engine, index]
                                if (e, i) not in clocks) for engine, index in stuck]
        raise VerifyError(*stuck[0], "deadlock: " + "; ".join(parts))


def _check_depth(config: Config, channels: dict[int, _Channel],
                 clocks: dict[Position, Clock]) -> int:
    """Largest value any semaphore can reach; it must fit the counter."""
    limit, deepest = (1 << config.semaphore_width) - 1, 0
    for semaphore, channel in channels.items():
        places = [place for _, place in channel.waits]
        for count, (engine, index) in enumerate(channel.signals, start=1):
            consumer = channel.waits[0][0]
            taken = bisect_left(places, clocks[engine, index][consumer])
            deepest = max(deepest, count - taken)
            if count - taken > limit:
                raise VerifyError(engine, index, f"semaphore {semaphore} can reach "
                                  f"{count - taken}, but holds at most {limit}")
    return deepest


# Races -------------------------------------------------------------------------------------------

class _Races:
    """Last access of each engine to each word, compared with the clock of the next."""

    def __init__(self, config: Config, queues: Queues, clocks: dict[Position, Clock]):
        self._config, self._queues, self._clocks = config, queues, clocks
        # [memory][write][engine] -> index + 1 of the last command that touched each word.
        self._last: dict[Region | str, NDArray[np.int64]] = {
            memory: np.zeros((2, len(ENGINES), 1), dtype=np.int64)
            for memory in addressing.memory_words(config)}

    def check(self, order: Sequence[Position]) -> int:
        touched = [addressing.accesses(self._queues[engine][index], self._config)
                   for engine, index in order]
        for (engine, index), accesses in zip(order, tracked(touched), strict=True):
            for access in accesses:
                self._compare(engine, index, access)
            for access in accesses:
                last = self._grown(access)
                last[int(access.write), engine, access.words] = index + 1
        return sum(access.words.size for group in touched for access in group)

    def _grown(self, access: Access) -> NDArray[np.int64]:
        """The memory's table, made long enough: external memory is large and mostly unused."""
        last = self._last[access.memory]
        needed = int(access.words.max()) + 1
        if last.shape[2] < needed:
            last = np.pad(last, ((0, 0), (0, 0), (0, max(needed, 2 * last.shape[2])
                                                   - last.shape[2])))
            self._last[access.memory] = last
        return last

    def _compare(self, engine: Engine, index: int, access: Access) -> None:
        clock = self._clocks[engine, index]
        last = self._grown(access)
        for other in ENGINES:
            for write in (True, False):
                if not (write or access.write) or self._in_order(engine, other, access, write):
                    continue
                late = last[int(write), other, access.words] > clock[other]
                if late.any():
                    word = access.words[late.argmax()]
                    self._report(engine, index, access, other, int(word),
                                 int(last[int(write), other, word]) - 1, write)

    @staticmethod
    def _in_order(engine: Engine, other: Engine, access: Access, write: bool) -> bool:
        """Whether the pipeline of one engine itself keeps these two accesses in order."""
        if engine != other or access.memory == "table":
            return False
        # Accumulators forward; elsewhere a read may overtake an earlier write of its engine.
        return access.write or engine == Engine.MATRIX

    def _report(self, engine: Engine, index: int, access: Access, other: Engine, word: int,
                position: int, write: bool) -> None:
        place = f"word {word}"
        if access.memory == Region.WGT:
            place = f"word {word // self._config.rows} of bank {word % self._config.rows}"
        memory = access.memory.name if isinstance(access.memory, Region) else access.memory
        name = self._queues[other][position].OPCODE.name
        raise VerifyError(engine, index, f"race: {'writes' if access.write else 'reads'} {memory} "
                          f"{place} while {other.name} command {position} ({name}) may still "
                          f"{'write' if write else 'read'} it")
