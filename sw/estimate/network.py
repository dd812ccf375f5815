"""The mesh: when packets pass its links, and when they come to the cores.

A packet is one flit. It leaves a router a cycle after it has come, goes along its row first, then
along the columns, and a copy of it to each core of its rectangle. A link takes one packet a cycle,
whoever sent it; who comes first goes first.
"""
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from systolith.hw.config import Config
from systolith.hw.isa import Notify, Remote
from systolith.sw.estimate.timeline import Ints, Timeline, spaced

#: Cycles from the end of a packet's last link to its write, if nothing holds it back, and to where
#: its signals show.
WRITE, SIGNAL = 1, 2


#: Packets that a router's queue holds.
QUEUE_DEPTH = 4


class Port(IntEnum):
    """Outputs of a router, as the hardware numbers them."""

    LOCAL = 0
    NORTH = 1
    EAST = 2
    SOUTH = 3
    WEST = 4


#: The step in x and y to each neighbour.
STEPS = {Port.NORTH: (0, -1), Port.EAST: (1, 0), Port.SOUTH: (0, 1), Port.WEST: (-1, 0)}


class Area(NamedTuple):
    """A rectangle of nodes, both ends included."""

    x_first: int
    x_last: int
    y_first: int
    y_last: int


class Link(NamedTuple):
    """An output of a router."""

    node: int
    port: Port


@dataclass(frozen=True)
class Branch:
    """A link that a packet passes; ``before`` is the number of the branch that it comes from, none
    for those at its sender, ``depth`` how many links it has passed with this one."""

    link: Link
    before: int | None
    depth: int


class Receiver(Protocol):
    """A core to which packets come."""

    def receive(self, command: Remote, writes: Ints, signal: int | None) -> None:
        """Beats that can be written in these cycles, and the cycle in which the command's signals
        show, with its last packets."""


class Network:
    """The links of a mesh.

    Parameters
    ----------
    config : Config
        Of the chip.
    """

    def __init__(self, config: Config):
        self._config = config
        self._lines: defaultdict[Link, Timeline] = defaultdict(Timeline)
        #: Packets that have passed each link.
        self.packets: defaultdict[Link, int] = defaultdict(int)

    def way(self, sender: int, area: Area) -> tuple[Branch, ...]:
        """The links from a core to all cores of a rectangle but itself, each after the one before
        it."""
        return _way(self._config.mesh_width, sender, area)

    def cross(self, link: Link, ready: Ints, after: int) -> Ints:
        """Let packets of one sender pass a link; the cycles.

        Parameters
        ----------
        ready : int array (n,)
            First cycle in which each is there.
        after : int
            Cycle in which the sender's packet before them passed it.
        """
        cycles = self._lines[link].place(ready, after)
        self._lines[link].mark(cycles)
        self.packets[link] += len(cycles)
        return cycles


class Sender:
    """A core's packets, in order.

    A packet comes into the mesh when each queue on its way, as far as packets wait there, has
    room for it.

    Parameters
    ----------
    network : Network
    number : int
        Of the core.
    receivers : list of Receiver
        All cores, by number.
    """

    def __init__(self, network: Network, number: int, receivers: list[Receiver]):
        self._network, self._number, self._receivers = network, number, receivers
        self._last = -1
        self._passed: defaultdict[Link, Ints] = defaultdict(lambda: np.empty(0, dtype=np.int64))

    def send(self, command: Remote, ready: Ints, after: int, *, last: bool) -> Ints:
        """Send beats of a command; the cycles in which the mover gets rid of them.

        Parameters
        ----------
        ready : int array (n,)
            First cycle of each.
        after : int
            Cycle of the beat before them.
        last : bool
            The command's last beat is among them.
        """
        signals = last and bool(command.remote_signal)
        data = 0 if isinstance(command, Notify) else len(ready)
        enter = spaced(ready, max(after, self._last))
        if data and signals:
            enter = np.append(enter, enter[-1] + 1)
        area = Area(command.x_first, command.x_last, command.y_first, command.y_last)
        way = self._network.way(self._number, area)
        passed = self._cross(way, enter)
        enter = self._held_back(way, enter, passed)
        self._last = int(enter[-1])
        for branch, cycles in zip(way, passed, strict=True):
            if branch.link.port == Port.LOCAL:
                self._receivers[branch.link.node].receive(
                    command, cycles[:data] + WRITE, int(cycles[-1]) + SIGNAL if signals else None)
        # The last beat is accepted with the packet of the signals.
        return np.append(enter[:len(ready) - 1], enter[-1])

    def _cross(self, way: tuple[Branch, ...], enter: Ints) -> list[Ints]:
        """The cycles in which packets pass each link."""
        passed: list[Ints] = []
        for branch in way:
            before = enter if branch.before is None else passed[branch.before]
            earlier = self._passed[branch.link]
            passed.append(self._network.cross(branch.link, before + 1,
                                              int(earlier[-1]) if len(earlier) else -1))
        return passed

    def _held_back(self, way: tuple[Branch, ...], enter: Ints, passed: list[Ints]) -> Ints:
        """The cycles in which the first queues take the packets."""
        for branch, cycles in zip(way, passed, strict=True):
            room = QUEUE_DEPTH * branch.depth
            known = np.concatenate([self._passed[branch.link], cycles])
            self._passed[branch.link] = known[-room:]
            free = known[:max(0, len(known) - room)][-len(cycles):]
            if len(free):
                enter[-len(free):] = np.maximum(enter[-len(free):], free - branch.depth + 1)
        return spaced(enter, -1)


@cache
def _way(width: int, sender: int, area: Area) -> tuple[Branch, ...]:
    branches: list[Branch] = []

    def go(node: int, came: Port, before: int | None, depth: int) -> None:
        for port in _outputs(node % width, node // width, came, area):
            branches.append(Branch(Link(node, port), before, depth))
            if port != Port.LOCAL:
                x, y = STEPS[port]
                go(node + x + y * width, port, len(branches) - 1, depth + 1)

    go(sender, Port.LOCAL, None, 1)
    return tuple(branches)


def _outputs(x: int, y: int, heading: Port, area: Area) -> Iterator[Port]:
    """Where a packet leaves a router; ``heading`` is where it went before, LOCAL at its sender."""
    column = area.x_first <= x <= area.x_last
    start, row = heading == Port.LOCAL, heading in (Port.EAST, Port.WEST)
    if column and area.y_first <= y <= area.y_last and not start:
        yield Port.LOCAL
    if (start or heading == Port.EAST) and area.x_last > x:
        yield Port.EAST
    if (start or heading == Port.WEST) and area.x_first < x:
        yield Port.WEST
    if (start or row or heading == Port.NORTH) and column and area.y_first < y:
        yield Port.NORTH
    if (start or row or heading == Port.SOUTH) and column and area.y_last > y:
        yield Port.SOUTH
