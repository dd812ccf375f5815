"""From one sequential list of commands of all cores to the streams of each core's engines.

The compiler's passes write commands in an order in which they could run one by one. This module
gives the engines as much freedom as the needs of these commands (:mod:`steps`) leave: a semaphore
token for each need between two engines that is not implied by others, a fence where a command reads
what an earlier one of the same engine wrote.

A need between cores becomes a remote signal of the Send whose data it needs, or where its targets
wait for different semaphores, of Notifies behind it. Where a core must know what no message told
it, such as that a buffer has been read, a Notify is put in. A single core is a mesh of one.
"""
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, Command, Remote
from systolith.sw.compiler.crowded import relieved
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.processes import Processes
from systolith.sw.compiler.signals import Streams, Tokens, emit, notify
from systolith.sw.compiler.steps import Step, delay_moves, steps_of

#: Something that a step must come after: (earlier, its process, later).
_Relay = tuple[Step, int, Step]


def schedule_mesh(commands: Sequence[tuple[int, Command]], config: Config) -> list[Streams]:
    """Streams of all cores that give the same result as the commands one after the other.

    Parameters
    ----------
    commands : sequence of (core, Command)
        In an order in which they could run one by one. ``wait``, ``signal``, ``fence`` and
        ``remote_signal`` are overwritten.
    config : Config
        Of the mesh.

    Returns
    -------
    list of dict
        By core, the commands of each engine; with the Notifies that were put in.

    Raises
    ------
    CompileError
        When a core needs more semaphores than it has, or a wider one.
    """
    processes, steps, delayed = Processes(config), steps_of(commands, config), False
    while True:
        order = _Order(steps, processes)
        if order.relays:
            steps = _relay(steps, order.relays, processes)
        elif (roomier := relieved(steps, order.tokens, processes)) is not None:
            steps = roomier
        elif not (exceeded := order.exceeded()):
            return emit(steps, order.tokens, processes)
        elif not delayed:
            steps, delayed = delay_moves(steps), True
        else:
            order.check_possible(exceeded)
            steps = _relay(steps, exceeded, processes)


class _Order:
    """Tokens and fences that enforce the needs; a need that others imply is dropped.

    A clock says for each process how many of the commands of its queue are known to have retired,
    or for a link, to have arrived. A remote signal tells what its sender knew when it began, that
    the sender's move engine has retired everything up to it, and that all of it has arrived.
    """

    def __init__(self, steps: Sequence[Step], processes: Processes):
        self.processes = processes
        self.tokens: Tokens = defaultdict(list)
        #: Needs of a core that nobody told it.
        self.relays: list[_Relay] = []
        self._limit = (1 << processes.config.semaphore_width) - 1
        self._rank = {id(step): index for index, step in enumerate(steps)}
        current = np.zeros((len(ENGINES) * processes.config.cores, processes.count), np.int64)
        counts = [0] * len(current)
        for step in steps:
            here = processes.engine(step.core, step.command.ENGINE)
            step.place, step.fence = counts[here], False
            counts[here] += 1
            # Latest first: it may imply the others.
            for earlier, process in sorted(step.needs, key=lambda need: -self._rank[id(need[0])]):
                self._need(earlier, process, step, here, current[here])
            step.clock = current[here].copy()

    def _need(self, earlier: Step, process: int, step: Step, here: int,
              clock: NDArray[np.int64]) -> None:
        if clock[process] > earlier.place:
            return
        if process == here:
            step.fence = True
            clock[here] = step.place
        elif self.processes.core(process) != step.core:
            self.relays.append((earlier, process, step))
        else:
            self.tokens[process, here].append((earlier, step))
            np.maximum(clock, earlier.clock, out=clock)
            clock[process] = max(clock[process], earlier.place + 1)
            if self.processes.is_link(process):
                mover = self.processes.mover(process)
                clock[mover] = max(clock[mover], earlier.place + 1)

    def exceeded(self) -> list[_Relay]:
        """Where a semaphore may hold more than its width allows: (taker of a token, its engine,
        signaller of one too many)."""
        return [(taker, waiter, signaller) for (_, waiter), channel in self.tokens.items()
                for (_, taker), (signaller, _) in zip(channel, channel[self._limit:], strict=False)
                if signaller.clock[waiter] <= taker.place]

    def check_possible(self, relays: Sequence[_Relay]) -> None:
        """That each signaller can wait for the taker.

        Raises
        ------
        CompileError
            When one comes before it.
        """
        for taker, _, signaller in relays:
            if self._rank[id(taker)] > self._rank[id(signaller)]:
                names = (self.processes.name(self.processes.engine(step.core, step.command.ENGINE))
                         for step in (signaller, taker))
                raise CompileError(f"the order of commands needs more than {self._limit} tokens "
                                   f"between {' and '.join(names)}; semaphore_width must be larger")


def _relay(steps: Sequence[Step], relays: Sequence[_Relay],
           processes: Processes) -> list[Step]:
    """The steps with a Notify for each need that a core must be told by another one."""
    told: dict[tuple[int, int, int], Step] = {}
    place = {id(step): index for index, step in enumerate(steps)}
    before: dict[int, list[Step]] = defaultdict(list)
    for earlier, process, later in sorted(relays, key=lambda relay: place[id(relay[2])]):
        core = processes.core(process)
        if core == later.core:
            later.needs.append((earlier, process))
            continue
        key = (id(earlier), process, later.core)
        if key not in told:
            told[key] = Step(core, notify(later.core, processes.config), [(earlier, process)])
            before[_latest(steps, place[id(earlier)], place[id(later)])].append(told[key])
        later.needs.append((told[key], processes.link(core, later.core)))
    return [each for index, step in enumerate(steps) for each in (*before[index], step)]


def _latest(steps: Sequence[Step], earlier: int, later: int) -> int:
    """Where a Notify goes that tells of ``earlier`` what ``later`` needs: so late that it holds up
    no loads between, but before all that is sent around together with ``later``."""
    while later - 1 > earlier and isinstance(steps[later - 1].command, Remote):
        later -= 1
    return later
