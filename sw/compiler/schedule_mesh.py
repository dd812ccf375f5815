"""From one sequential list of commands of all cores to the streams of each core's engines.

The algorithm is that of :mod:`schedule`, for processes instead of engines: a need between two
engines of a core becomes a token, one between cores a remote signal of the Send whose data it
needs, or where its targets wait for different semaphores, of Notifies behind it. Where a core must
know what no message told it, such as that a buffer has been read, a Notify is put in.
"""
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, Command, Engine, Notify, Remote
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.processes import Place, Processes, Touch, tracked
from systolith.sw.compiler.schedule import CHANNELS
from systolith.sw.reference.addressing import targets

#: Streams of a core.
Streams = dict[Engine, list[Command]]


@dataclass(eq=False)
class _Step:
    """A command of a core; ``after``: what it needs besides data, as (step, process)."""

    core: int
    command: Command
    after: "list[tuple[_Step, int]]" = field(default_factory=list)
    place: int = 0
    fence: bool = False
    clock: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


_Need = tuple[_Step, int]


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
    processes = Processes(config)
    steps = [_Step(core, command) for core, command in commands]
    while True:
        order = _Order(steps, processes)
        relays = order.relays or order.throttle()
        if not relays:
            return _emit(steps, order)
        steps = _relay(steps, relays, processes)


def _find_needs(steps: Sequence[_Step], processes: Processes) -> list[list[_Need]]:
    """For every step the last command of each process that it must come after."""
    groups = tracked([processes.touches(step.core, step.command) for step in steps])
    history: dict[tuple[Place, bool], dict[int, NDArray[np.int64]]] = defaultdict(dict)
    sizes: dict[Place, int] = defaultdict(int)
    for touch in (touch for group in groups for touch in group):
        sizes[touch.place] = max(sizes[touch.place], int(touch.access.words.max()) + 1)
    result: list[list[_Need]] = []
    for index, group in enumerate(groups):
        found: dict[int, set[int]] = defaultdict(set)
        for touch in group:
            for write in (True, False):
                for process, last in history[touch.place, write].items():
                    if _matters(touch, process, write):
                        found[process].add(int(last[touch.access.words].max()))
        for touch in group:
            table = history[touch.place, touch.access.write]
            if touch.process not in table:
                table[touch.process] = np.full(sizes[touch.place], -1, dtype=np.int64)
            table[touch.process][touch.access.words] = index
        needs = [(steps[max(found[process])], process) for process in found
                 if max(found[process]) >= 0]
        result.append(needs + steps[index].after)
    return result


def _matters(touch: Touch, other: int, write: bool) -> bool:
    """Whether an earlier touch of the same words must be waited for."""
    if not write and not touch.access.write:
        return False
    return other != touch.process or touch.place[1] == "table" or not touch.access.write


class _Order:
    """Tokens and fences that enforce the needs; a need that others imply is dropped.

    A clock says for each process how many of the commands of its queue are known to have retired,
    or for a link, to have arrived. A remote signal tells what its sender knew when it began, that
    the sender's move engine has retired everything up to it, and that all of it has arrived.
    """

    def __init__(self, steps: Sequence[_Step], processes: Processes):
        self.processes = processes
        #: (signalling process, waiting engine's process) -> (signaller, waiter) in order.
        self.tokens: dict[tuple[int, int], list[tuple[_Step, _Step]]] = defaultdict(list)
        #: Needs of a core that nobody told it: (earlier, its process, later).
        self.relays: list[tuple[_Step, int, _Step]] = []
        self.rank = {id(step): index for index, step in enumerate(steps)}
        needs = _find_needs(steps, processes)
        current = np.zeros((len(ENGINES) * processes.config.cores, processes.count), np.int64)
        counts = [0] * len(current)
        for step, found in zip(steps, needs, strict=True):
            here = processes.engine(step.core, step.command.ENGINE)
            step.place, step.fence = counts[here], False
            counts[here] += 1
            # Latest first: it may imply the others.
            for earlier, process in sorted(found, key=lambda need: -self.rank[id(need[0])]):
                self._need(earlier, process, step, here, current[here])
            step.clock = current[here].copy()

    def _need(self, earlier: _Step, process: int, step: _Step, here: int,
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
                mover = self.processes.engine(earlier.core, Engine.MOVE)
                clock[mover] = max(clock[mover], earlier.place + 1)

    def throttle(self) -> list[tuple[_Step, int, _Step]]:
        """More needs, so that no semaphore ever holds more than its width allows."""
        limit = (1 << self.processes.config.semaphore_width) - 1
        more = []
        for (_, waiter), channel in self.tokens.items():
            for (_, taker), (signaller, _) in zip(channel, channel[limit:], strict=False):
                if signaller.clock[waiter] > taker.place:
                    continue
                if self.rank[id(taker)] > self.rank[id(signaller)]:
                    raise CompileError(
                        f"the order of commands needs more than {limit} tokens for one engine of "
                        f"core {taker.core}; semaphore_width must be larger")
                more.append((taker, waiter, signaller))
        return more


def _relay(steps: Sequence[_Step], relays: Sequence[tuple[_Step, int, _Step]],
           processes: Processes) -> list[_Step]:
    """The steps with a Notify for each need that a core must be told by another one."""
    told: dict[tuple[int, int, int], _Step] = {}
    place = {id(step): index for index, step in enumerate(steps)}
    before: dict[int, list[_Step]] = defaultdict(list)
    for earlier, process, later in sorted(relays, key=lambda relay: place[id(relay[2])]):
        core = processes.core(process)
        if core == later.core:
            later.after.append((earlier, process))
            continue
        key = (id(earlier), process, later.core)
        if key not in told:
            told[key] = _Step(core, _notify(later.core, processes.config), [(earlier, process)])
            before[_latest(steps, place[id(earlier)], place[id(later)])].append(told[key])
        later.after.append((told[key], processes.link(core, later.core)))
    return [each for index, step in enumerate(steps) for each in (*before[index], step)]


def _latest(steps: Sequence[_Step], earlier: int, later: int) -> int:
    """Where a Notify goes that tells of ``earlier`` what ``later`` needs: so late that it holds up
    no loads between, but before all that is sent around together with ``later``."""
    while later - 1 > earlier and isinstance(steps[later - 1].command, Remote):
        later -= 1
    return later


def _notify(target: int, config: Config, mask: int = 0) -> Notify:
    y, x = divmod(target, config.mesh_width)
    return Notify(x_first=x, x_last=x, y_first=y, y_last=y, remote_signal=mask)


def _numbers(order: _Order) -> dict[tuple[int, int], int]:
    """A semaphore of the waiting core for each channel. Those of the engines are fixed; those of a
    sender and the same engine of others have one number where they can, for one signal to all."""
    processes = order.processes
    result: dict[tuple[int, int], int] = {}
    alike: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for process, waiter in sorted(order.tokens):
        engine = waiter % len(ENGINES)
        if processes.is_link(process):
            alike[processes.source(process), engine].append((process, waiter))
        else:
            result[process, waiter] = CHANNELS[ENGINES[process % len(ENGINES)], ENGINES[engine]]
    free = _free_numbers(alike.values(), processes)
    for pairs in alike.values():
        cores = [processes.core(waiter) for _, waiter in pairs]
        common = set.intersection(*(free[core] for core in cores))
        for pair, core in zip(pairs, cores, strict=True):
            result[pair] = min(common or free[core])
            free[core].remove(result[pair])
    return result


def _free_numbers(alike: Iterable[list[tuple[int, int]]], processes: Processes) -> list[set[int]]:
    """Of each core the semaphores for other cores.

    Raises
    ------
    CompileError
        When a core needs more.
    """
    config, fixed = processes.config, len(CHANNELS)
    wanted = [processes.core(waiter) for pairs in alike for _, waiter in pairs]
    for core in range(config.cores):
        if fixed + wanted.count(core) > config.semaphores:
            raise CompileError(
                f"core {core} needs {fixed + wanted.count(core)} semaphores: {fixed} between its "
                f"engines and {wanted.count(core)} for pairs of a sending core and a waiting "
                f"engine; it has {config.semaphores}. Let fewer cores send to it, or fewer of its "
                "engines read what arrives")
    return [set(range(fixed, config.semaphores)) for _ in range(config.cores)]


def _emit(steps: Sequence[_Step], order: _Order) -> list[Streams]:
    processes, config = order.processes, order.processes.config
    numbers = _numbers(order)
    wait: dict[int, int] = defaultdict(int)
    signal: dict[int, int] = defaultdict(int)
    remote: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for (process, waiter), channel in order.tokens.items():
        bit = 1 << numbers[process, waiter]
        for signaller, taker in channel:
            wait[id(taker)] |= bit
            if processes.is_link(process):
                remote[id(signaller)][processes.core(process)] |= bit
            else:
                signal[id(signaller)] |= bit
    streams: list[Streams] = [{engine: [] for engine in ENGINES} for _ in range(config.cores)]
    for step in steps:
        command = replace(step.command, wait=wait[id(step)], signal=signal[id(step)],
                          fence=int(step.fence))
        stream = streams[step.core][command.ENGINE]
        if isinstance(command, Remote):
            stream += _told(command, remote[id(step)], step.core, config)
        else:
            stream.append(command)
    return streams


def _told(command: Remote, masks: Mapping[int, int], sender: int, config: Config) -> list[Command]:
    """A command with what it signals to whom: by itself, where it reaches just those who wait and
    all wait for the same; else by Notifies behind it, as a signal arrives after data before it."""
    values = set(masks.values()) or {0}
    if len(values) == 1 and (not masks or sorted(masks) == targets(command, config, sender)):
        return [replace(command, remote_signal=values.pop())]
    return [replace(command, remote_signal=0),
            *(_notify(target, config, mask) for target, mask in sorted(masks.items()))]
