"""Finds two accesses to one word that nothing keeps in order."""
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Region
from systolith.hw.isa import ENGINES, Engine
from systolith.sw.compiler.channels import Channel, Semaphore
from systolith.sw.compiler.processes import Place, Touch, tracked
from systolith.sw.compiler.queues import Clocks, Machine, Position
from systolith.sw.runtime.cluster import core_name


class Races:
    """Last access of each process to each word, compared with the clock of the next."""

    def __init__(self, machine: Machine, clocks: Clocks,
                 channels: Mapping[Semaphore, Channel]):
        self._machine, self._clocks, self._channels = machine, clocks, channels
        # [place, write][process] -> index + 1 of the last command that touched each word.
        self._last: dict[tuple[Place, bool], dict[int, NDArray[np.int64]]] = defaultdict(dict)

    def check(self, order: Sequence[Position]) -> int:
        touches = [self._machine.processes.touches(process // len(ENGINES),
                                                   self._machine.command((process, index)))
                   for process, index in order]
        for here, group in zip(order, tracked(touches), strict=True):
            for touch in group:
                self._compare(here, touch)
            for touch in group:
                self._grown(touch)[touch.access.words] = here[1] + 1
        return sum(touch.access.words.size for group in touches for touch in group)

    def _grown(self, touch: Touch) -> NDArray[np.int64]:
        """The process's table, made long enough: external memory is large and mostly unused."""
        tables = self._last[touch.place, touch.access.write]
        last = tables.get(touch.process, np.zeros(1, dtype=np.int64))
        needed = int(touch.access.words.max()) + 1
        if last.size < needed:
            last = np.pad(last, (0, max(needed, 2 * last.size) - last.size))
        tables[touch.process] = last
        return last

    def _compare(self, here: Position, touch: Touch) -> None:
        clock, words = self._clocks[here], touch.access.words
        for write in (True, False):
            if not (write or touch.access.write):
                continue
            for other, last in self._last[touch.place, write].items():
                if self._in_order(touch, other):
                    continue
                known = words[words < last.size]
                late = last[known] > clock[other]
                if late.any():
                    word = int(known[late.argmax()])
                    self._report(here, touch, word, (other, int(last[word]) - 1), write)

    @staticmethod
    def _in_order(touch: Touch, other: int) -> bool:
        """Whether one process itself keeps these two accesses in order."""
        if touch.process != other or touch.place[1] == "table":
            return False
        # Accumulators forward; elsewhere a read may overtake an earlier write of its engine.
        return touch.access.write or touch.process % len(ENGINES) == Engine.MATRIX

    def _report(self, here: Position, touch: Touch, word: int, other: Position,
                write: bool) -> None:
        place, (core, memory), config = f"word {word}", touch.place, self._machine.config
        if memory == Region.WGT:
            place = f"word {word // config.rows} of bank {word % config.rows}"
        name = memory.name if isinstance(memory, Region) else memory
        if core not in (-1, self._machine.engine(here[0]) // len(ENGINES)):
            place += f" of {core_name(config, core)}"
        raise self._machine.error(
            here, f"race: {'writes' if touch.access.write else 'reads'} {name} {place} while "
            f"{self._machine.name(other[0])} command {other[1]} "
            f"({self._machine.command(other).OPCODE.name}) may still "
            f"{'write' if write else 'read'} it" + self._doubt(here, other))

    def _doubt(self, here: Position, other: Position) -> str:
        """The semaphore by which this core would know of the other one, where it counts signals of
        several and does not tell whose they are."""
        machine, core = self._machine, here[0] // len(ENGINES)
        source = machine.engine(other[0]) // len(ENGINES)
        for channel in self._channels.values():
            if channel.counts and channel.core == core and any(
                    machine.engine(process) // len(ENGINES) == source
                    for process in channel.signals):
                started = (here[1] + 1 if here[0] == channel.waiter
                           else self._clocks[here][channel.waiter])
                taken = bisect_left(channel.waits, started)
                sure = sum(channel.known_signals(taken - 1)) if taken else 0
                if sure < taken:
                    return (f"; semaphore {channel.number} of {core_name(machine.config, core)} "
                            f"counts signals of {len(channel.signals)} others, and of {taken} "
                            f"that were taken {taken - sure} can be from any of them")
        return ""
