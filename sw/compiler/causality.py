"""What the hardware guarantees to have happened before each command of a machine starts."""
from collections import defaultdict

import numpy as np

from systolith.sw.compiler.channels import Channel, Semaphore
from systolith.sw.compiler.queues import Clocks, Machine, Position

#: Of a command that waits: each semaphore, and which of its waits this is.
_Waits = dict[Position, list[tuple[Channel, int]]]


def causality(machine: Machine, channels: dict[Semaphore, Channel]
              ) -> tuple[list[Position], Clocks]:
    """An order in which all commands can run, and their clocks in any order.

    A semaphore has one engine that waits for it, so who could take a signal does so sooner or
    later, whatever others do: if one run ends, all do.

    Where a semaphore has several signallers, what its waits know depends on who cannot be ahead of
    them, which depends on clocks, which depend on what waits know. Whatever supposition agrees with
    the rule of :class:`Channel` is true. Say a run had a wait that starts before a signal of which
    it is supposed to know, and take the first such start. Then another signaller has given more
    than the rule allows it, so its command started although its clock says that the wait's had
    retired. That clock rests on starts before this one, whose suppositions hold: a contradiction.
    So this starts from what holds in one run, and takes away what does not agree until all does.

    Raises
    ------
    VerifyError
        When a run ends with commands left: a deadlock.
    """
    waits: _Waits = defaultdict(list)
    for channel in channels.values():
        for number, index in enumerate(channel.waits):
            waits[channel.waiter, index].append((channel, number))
    order = _Run(machine, channels, waits).order
    counting = [channel for channel in channels.values() if channel.counts]
    while True:
        clocks = _clocks(machine, order, waits)
        changed = [channel.refine(machine, clocks) for channel in counting]
        if not any(changed):
            return order, clocks


class _Run:
    """One run of a machine, which tells each channel what its waits found."""

    def __init__(self, machine: Machine, channels: dict[Semaphore, Channel], waits: _Waits):
        self._machine, self._waits = machine, waits
        self.order: list[Position] = []
        self._given = {id(channel): dict.fromkeys(channel.signals, 0)
                       for channel in channels.values()}
        self._total = dict.fromkeys(self._given, 0)
        self._seen = {id(channel): {process: np.zeros(len(channel.waits), np.int64)
                                    for process in channel.signals}
                      for channel in channels.values()}
        self._signals: dict[Position, list[tuple[int, int]]] = defaultdict(list)
        for channel in channels.values():
            for process, places in channel.signals.items():
                for place in places:
                    self._signals[machine.engine(process), place].append((id(channel), process))
        self._execute()
        for channel in channels.values():
            channel.suppose(self._seen[id(channel)])

    def _execute(self) -> None:
        queues = self._machine.queues
        heads, progress = [0] * len(queues), True
        while progress:
            progress = False
            for process, queue in enumerate(queues):
                while heads[process] < len(queue) and self._start((process, heads[process])):
                    heads[process] += 1
                    progress = True
        self._check_finished(heads)

    def _start(self, here: Position) -> bool:
        waits = self._waits.get(here, ())
        if any(self._total[id(channel)] <= number for channel, number in waits):
            return False
        for channel, number in waits:
            for process, count in self._given[id(channel)].items():
                self._seen[id(channel)][process][number] = count
        for channel_id, process in self._signals.get(here, ()):
            self._given[channel_id][process] += 1
            self._total[channel_id] += 1
        self.order.append(here)
        return True

    def _check_finished(self, heads: list[int]) -> None:
        machine = self._machine
        stuck = [(process, heads[process]) for process, queue in enumerate(machine.queues)
                 if heads[process] < len(queue)]
        if stuck:
            parts = [f"{machine.name(here[0])} command {here[1]} waits for "
                     + " and ".join(self._missing(channel) for channel, number in self._waits[here]
                                    if self._total[id(channel)] <= number) for here in stuck]
            raise machine.error(stuck[0], "deadlock: " + "; ".join(parts))

    def _missing(self, channel: Channel) -> str:
        """The next command of each that could signal a semaphore."""
        given = self._given[id(channel)]
        return " or ".join(f"{self._machine.name(process)} command {places[given[process]]}"
                           for process, places in channel.signals.items()
                           if given[process] < len(places))


def _clocks(machine: Machine, order: list[Position], waits: _Waits) -> Clocks:
    clocks = Clocks(machine)
    for here in order:
        process, index = here
        clock = clocks[here]
        if index:
            clock[:] = clocks[process, index - 1]
        if machine.command(here).fence:
            clock[process] = index
        for channel, number in waits.get(here, ()):
            for other, place in channel.known(number):
                if clock[other] <= place:
                    engine = machine.engine(other)
                    np.maximum(clock, clocks[engine, place], out=clock)
                    # Retirement is in order, so all before the signaller have retired, too.
                    clock[other] = place + 1
                    clock[engine] = max(clock[engine], place + 1)
    return clocks
