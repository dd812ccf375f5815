"""Semaphores of a machine: who signals them, who waits, and what a wait then knows."""
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from systolith.hw.isa import Remote
from systolith.sw.compiler.queues import Clocks, Machine, Position

#: Core and number of a semaphore.
Semaphore = tuple[int, int]

_Ints = NDArray[np.signedinteger]


@dataclass(eq=False)
class Channel:
    """A semaphore that one engine waits for, and any number of processes signal.

    It counts signals, whoever gives them. So when its wait ``k`` starts, ``k + 1`` signals have
    been given, and of these signaller ``s`` has given at least ::

        k + 1 - (the most that all others can have given by then)

    A signal cannot have been given by then if its command starts only after that wait's command
    has retired. With one signaller, the wait knows of ``k + 1`` of its signals.

    Parameters
    ----------
    core, number : int
    waiter : int
        The engine's process, -1 for nobody.
    waits : list of int
        Places of the waiting commands in its queue.
    signals : dict of int to list of int
        By signalling process, places of its commands.
    """

    core: int
    number: int
    waiter: int = -1
    waits: list[int] = field(default_factory=list)
    signals: dict[int, list[int]] = field(default_factory=dict)
    _known: dict[int, _Ints] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether there are several signallers, so that it matters who may be ahead."""
        return len(self.signals) > 1

    @property
    def given(self) -> int:
        """Signals of all."""
        return sum(map(len, self.signals.values()))

    def suppose(self, seen: dict[int, _Ints]) -> None:
        """Start from what each wait finds in one run: the signals of each process that have been
        given. No wait can know of more in all runs."""
        total = sum(seen.values(), np.zeros(len(self.waits), np.int64))
        self._known = {process: np.maximum(self._taken - (total - own), 0)
                       for process, own in seen.items()}

    @property
    def _taken(self) -> _Ints:
        return np.arange(1, len(self.waits) + 1)

    def known(self, wait: int) -> Iterator[Position]:
        """The latest command of each signaller that is known to have signalled at a wait."""
        for process, count in zip(self._known, self.known_signals(wait), strict=True):
            if count:
                yield process, self.signals[process][count - 1]

    def known_signals(self, wait: int) -> list[int]:
        """How many signals of each signaller are known to have been given at a wait."""
        return [int(counts[wait]) for counts in self._known.values()]

    def refine(self, machine: Machine, clocks: Clocks) -> bool:
        """Reduce what each wait knows to what the rule allows; whether anything was too much."""
        most = self._most(machine, clocks)
        total, changed = sum(most.values()), False
        for process, own in most.items():
            allowed = np.minimum(self._known[process], np.maximum(self._taken - (total - own), 0))
            changed |= bool((allowed < self._known[process]).any())
            self._known[process] = allowed
        return changed

    def _most(self, machine: Machine, clocks: Clocks) -> dict[int, _Ints]:
        """By process, how many signals it can have given when each wait starts."""
        return {process: np.searchsorted(self._ahead(process, machine, clocks), self.waits,
                                         side="right") for process in self.signals}

    def _ahead(self, process: int, machine: Machine, clocks: Clocks) -> _Ints:
        """For each signal of a process, how many commands of the waiter come before it: for the
        waiter's own all that start no later than the one that gives it."""
        places, engine = self.signals[process], machine.engine(process)
        if engine == self.waiter:
            return np.array(places) + 1
        return clocks.column(engine, self.waiter)[places]

    def depth(self, machine: Machine, clocks: Clocks) -> int:
        """The largest value that it can reach.

        Raises
        ------
        VerifyError
            Naming a signal that may be too many.
        """
        limit = (1 << machine.config.semaphore_width) - 1
        values = np.asarray(sum(self._most(machine, clocks).values())) - self._taken + 1
        if (values > limit).any():
            first = int((values > limit).argmax())
            raise machine.error(self._last_before(first, machine, clocks),
                                f"semaphore {self.number} can reach {limit + 1}, but holds at most "
                                f"{limit}")
        return int(values.max())

    def _last_before(self, wait: int, machine: Machine, clocks: Clocks) -> Position:
        """The last signal, of the process with most, that can be given before a wait."""
        most = {process: int(counts[wait]) for process, counts
                in self._most(machine, clocks).items()}
        process = max(most, key=lambda each: most[each])
        limit = (1 << machine.config.semaphore_width) - 1
        others = sum(most.values()) - most[process]
        return process, self.signals[process][min(most[process], limit + wait + 1 - others) - 1]


def channels_of(machine: Machine) -> dict[Semaphore, Channel]:
    """Every semaphore that is signalled or waited for.

    Raises
    ------
    VerifyError
        When two engines wait for one, or there are not as many waits as signals.
    """
    channels: dict[Semaphore, Channel] = {}

    def channel(core: int, number: int) -> Channel:
        return channels.setdefault((core, number), Channel(core, number))

    for (process, index), command in machine.commands():
        core = machine.processes.core(process)
        for number in bits(command.signal):
            channel(core, number).signals.setdefault(process, []).append(index)
        for number in bits(command.wait):
            _add_wait(machine, channel(core, number), (process, index))
        if isinstance(command, Remote) and command.remote_signal:
            for target in machine.processes.targets(core, command):
                link = machine.processes.link(core, target)
                for number in bits(command.remote_signal):
                    channel(target, number).signals.setdefault(link, []).append(index)
    for each in channels.values():
        _check_balance(machine, each)
    return channels


def bits(mask: int) -> list[int]:
    """Numbers of the semaphores in a mask."""
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def _add_wait(machine: Machine, channel: Channel, position: Position) -> None:
    if channel.waiter not in (-1, position[0]):
        raise machine.error(position, f"semaphore {channel.number} is waited for by "
                            f"{machine.name(channel.waiter)} too; each needs one engine that waits")
    channel.waiter = position[0]
    channel.waits.append(position[1])


def _check_balance(machine: Machine, channel: Channel) -> None:
    given, waits = channel.given, len(channel.waits)
    what = f"({given} signals, {waits} waits)"
    if waits > given:
        raise machine.error((channel.waiter, channel.waits[given]),
                            f"waits for semaphore {channel.number} which nobody signals {what}")
    if given > waits:
        # Of several signallers the one that signals most is the likeliest to be wrong.
        process, places = max(channel.signals.items(), key=lambda item: len(item[1]))
        position = process, places[max(len(places) - (given - waits), 0)]
        raise machine.error(position, f"signals semaphore {channel.number} which nobody waits for "
                            f"{what}")
