"""From one sequential list of commands to the streams of the engines.

The compiler's passes write commands in an order in which they could run one by one. This module
finds, word by word, which command needs which earlier one, and gives the engines as much freedom
as these needs leave: a semaphore token for each need between two engines that is not implied by
others, a fence where a command reads what an earlier one of the same engine wrote.
"""
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from systolith.hw.config import Config, Region, check_one_core
from systolith.hw.isa import ENGINES, Command, Engine
from systolith.sw.compiler.errors import CompileError
from systolith.sw.reference.addressing import Access, accesses

#: Semaphore of each ordered pair (signalling engine, waiting engine).
CHANNELS = {pair: number for number, pair in enumerate(
    (a, b) for a in ENGINES for b in ENGINES if a != b)}

#: A need: (earlier command, later command), indices into the sequential list.
Need = tuple[int, int]


#: How many commands of each engine are known to have retired.
Clock = dict[Engine, int]


@dataclass
class Order:
    """What enforces the needs: ``tokens`` of each channel as (signaller, waiter) in order, commands
    with a fence; the clock of each command at its start; and each command's index in its stream."""

    tokens: dict[tuple[Engine, Engine], list[Need]]
    fences: set[int]
    clocks: list[Clock]
    places: list[int]


def schedule(commands: Sequence[Command], config: Config) -> dict[Engine, list[Command]]:
    """Streams of the engines that give the same result as the commands one after the other.

    Raises
    ------
    CompileError
        When a semaphore is too narrow for the order of the commands.
    ConfigError
        When the configuration has several cores.
    """
    check_one_core(config, "this program")
    commands, needs = _delay_moves(commands, find_needs(commands, config))
    limit = (1 << config.semaphore_width) - 1
    while True:
        order = reduce_needs(commands, needs)
        more = _throttle(commands, order, limit)
        if not more:
            return _emit(commands, order)
        for later, earlier in more:
            needs[later] = sorted({*needs[later], earlier})


def find_needs(commands: Sequence[Command], config: Config) -> list[list[int]]:
    """For every command the earlier ones that it must come after.

    A read needs the word's last write; a write needs the last write and all reads since. Of all
    words and commands of one engine the latest is enough, for an engine retires in order.
    """
    touched = tracked([accesses(command, config) for command in commands])
    history = _History([access for group in touched for access in group])
    result = []
    for index, command in enumerate(commands):
        found: set[int] = set()
        for access in touched[index]:
            found |= history.earlier(access, command.ENGINE)
        for access in touched[index]:
            history.record(access, command.ENGINE, index)
        result.append(sorted(found))
    return result


def tracked(touched: Sequence[list[Access]]) -> list[list[Access]]:
    """Accesses without those of memories that nothing writes: their order does not matter, and
    external memory is large."""
    written = {access.memory for group in touched for access in group if access.write}
    return [[access for access in group if access.memory in written] for group in touched]


class _History:
    """The last command of each engine that wrote and that read each word; -1 for none."""

    def __init__(self, touched: Sequence[Access]):
        sizes: dict[Region | str, int] = defaultdict(int)
        for access in touched:
            sizes[access.memory] = max(sizes[access.memory], int(access.words.max()) + 1)
        # [memory][engine, is a write, word]
        self._last = {memory: np.full((len(ENGINES), 2, size), -1, dtype=np.int64)
                      for memory, size in sizes.items()}

    def earlier(self, access: Access, engine: Engine) -> set[int]:
        """Commands that must retire before this access of ``engine``."""
        found = set()
        for other in ENGINES:
            for write in (0, 1):
                if self._matters(access, engine, other, write):
                    last = self._last[access.memory][other, write, access.words]
                    found.add(int(last.max()))
        return found - {-1}

    @staticmethod
    def _matters(access: Access, engine: Engine, other: Engine, write: int) -> bool:
        if not write and not access.write:
            return False
        # An engine reads and writes in order, but a read may overtake the write before it. Tables
        # are used at another place of the pipeline than they are filled.
        return other != engine or access.memory == "table" or not access.write

    def record(self, access: Access, engine: Engine, index: int) -> None:
        """Note an access of the command ``index``."""
        self._last[access.memory][engine, int(access.write), access.words] = index


def _delay_moves(commands: Sequence[Command], needs: Sequence[list[int]],
                 ) -> tuple[list[Command], list[list[int]]]:
    """The same list with every load just before the first command that needs it, and every store
    as soon as what it needs and the moves before it have their places.

    Streams stay what they are, for moves keep their order and so do the others. But where
    semaphores are narrow, loads must wait for commands that stand before them in the list.
    """
    order: list[int] = []
    moves = deque(i for i, command in enumerate(commands) if command.ENGINE == Engine.MOVE)
    for index, command in enumerate(commands):
        if command.ENGINE == Engine.MOVE:
            continue
        last = max((i for i in needs[index] if commands[i].ENGINE == Engine.MOVE), default=-1)
        while moves and moves[0] <= last:
            order.append(moves.popleft())
        order.append(index)
        while moves and needs[moves[0]] and max(needs[moves[0]]) <= index:
            order.append(moves.popleft())
    order += moves
    place = {old: new for new, old in enumerate(order)}
    return ([commands[old] for old in order],
            [sorted(place[i] for i in needs[old]) for old in order])


def reduce_needs(commands: Sequence[Command], needs: Sequence[Sequence[int]]) -> Order:
    """Tokens and fences that enforce the needs.

    A need is dropped when the command's other needs, or what its engine has waited for before,
    imply it. In each channel both the signalling and the waiting commands then increase, so the
    k-th wait takes the k-th signal.
    """
    order = Order({pair: [] for pair in CHANNELS}, set(), [], _places(commands))
    current: dict[Engine, Clock] = {engine: dict.fromkeys(ENGINES, 0) for engine in ENGINES}
    for index, command in enumerate(commands):
        clock = current[command.ENGINE]
        # Latest first: it may imply the others.
        for earlier in sorted(needs[index], reverse=True):
            source = commands[earlier].ENGINE
            if clock[source] > order.places[earlier]:
                continue
            if source == command.ENGINE:
                order.fences.add(index)
                clock[source] = order.places[index]
                continue
            order.tokens[source, command.ENGINE].append((earlier, index))
            for engine in ENGINES:
                clock[engine] = max(clock[engine], order.clocks[earlier][engine])
            clock[source] = max(clock[source], order.places[earlier] + 1)
        order.clocks.append(dict(clock))
    return order


def _places(commands: Sequence[Command]) -> list[int]:
    """Each command's index in its engine's stream."""
    places, counts = [], dict.fromkeys(ENGINES, 0)
    for command in commands:
        places.append(counts[command.ENGINE])
        counts[command.ENGINE] += 1
    return places


def _throttle(commands: Sequence[Command], order: Order, limit: int) -> list[Need]:
    """More needs, (later, earlier), so that no semaphore ever holds more than ``limit``.

    The token after ``limit`` others may be signalled only when the first of them has been taken.
    """
    more = []
    for (source, target), channel in order.tokens.items():
        for (_, taker), (signaller, _) in zip(channel, channel[limit:], strict=False):
            if order.clocks[signaller][target] > order.places[taker]:
                continue
            if taker > signaller:
                raise CompileError(
                    f"the order of commands needs more than {limit} tokens between the "
                    f"{source.name} and {target.name} engines; semaphore_width must be larger")
            more.append((signaller, taker))
    return more


def _emit(commands: Sequence[Command], order: Order) -> dict[Engine, list[Command]]:
    wait, signal = [0] * len(commands), [0] * len(commands)
    for pair, channel in order.tokens.items():
        for signaller, taker in channel:
            signal[signaller] |= 1 << CHANNELS[pair]
            wait[taker] |= 1 << CHANNELS[pair]
    streams: dict[Engine, list[Command]] = {engine: [] for engine in ENGINES}
    for index, command in enumerate(commands):
        streams[command.ENGINE].append(replace(
            command, wait=wait[index], signal=signal[index], fence=int(index in order.fences)))
    return streams
