"""The mover: beats between external memory and the core, which lets array and vector unit go first.
"""
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from systolith.hw.config import BEATS_IN_FLIGHT, Config
from systolith.hw.isa import Load, Move, Notify, Remote
from systolith.sw.estimate.external import ExternalMemory
from systolith.sw.estimate.ports import Port, Ports, SplitPort
from systolith.sw.estimate.timeline import Ints, spaced

#: Cycles from a request at the mover to the same at external memory.
REQUEST = 1

#: Cycles from a command's acceptance to its first beat.
WALK = 2

#: Cycles through the queue of beats and the register behind it.
QUEUE = 3

#: Cycles from the last beat sent to the command's retirement: of a load into a memory of the core,
#: of a store through the port to external memory, of a send into the mesh.
LOAD_RETIRE, STORE_RETIRE, SEND_RETIRE = 1, 2, 1

#: Beats that a core of several settles at once: more would let it go before the others on links and
#: in external memory. The first of sends, the second of what is asked for.
SEND_GRAIN, ASK_GRAIN = 4, 16


class Beats(Protocol):
    """When a memory moves beats, see :class:`~systolith.sw.estimate.pace.Pace`."""

    @property
    def gap(self) -> float: ...

    def place(self, ready: Ints) -> Ints: ...


class Sends(Protocol):
    """The way of a core's beats to others, see :class:`~systolith.sw.estimate.network.Sender`."""

    def send(self, command: Remote, ready: Ints, after: int, *, last: bool) -> Ints: ...


@dataclass(frozen=True)
class _Moving:
    """A command: its beats are number ``first`` to ``last - 1`` of all; taken in ``accepted``.
    ``store``: they come out of the core, for other cores where there is a ``send``."""

    first: int
    last: int
    store: bool
    port: Port | SplitPort
    accepted: int
    send: Remote | None


@dataclass(frozen=True)
class Far:
    """What a mover reaches outside of its core: the memory's parameters and its rate, which cores
    may share, and the way to other cores."""

    external: ExternalMemory
    pace: Beats
    network: Sends | None = None


class MoverModel:
    """When beats are asked for and sent.

    A beat is asked for (a load: from external memory; a store: from a memory of the core), comes
    into a queue, from there into a register, and is sent. At most ``BEATS_IN_FLIGHT`` are between
    request and register. As the other engines' use of the ports is known only up to now,
    ``advance`` settles the beats up to a cycle, and ``expected`` never lies after the cycle in
    which something can be settled next.

    Parameters
    ----------
    config : Config
    far : Far
    ports : Ports
    """

    def __init__(self, config: Config, far: Far, ports: Ports):
        self._bus, self._ports = config.bus_bytes, ports
        self._read_latency = config.system_read_latency
        # Beats that wait between the walk and the request, and between the queue and the memory:
        # one, or two where neither side sees within a cycle that the other goes on.
        self._spare, self._depth = config.port_cycles, 1 + config.port_cycles
        self._far, self._latency, self._gap = far, far.external.latency, far.pace.gap
        self._commands: list[_Moving] = []
        # Cycles of each beat: asked for, there to be sent, sent.
        self._asks, self._ready, self._sends = (np.empty(0, dtype=np.int64) for _ in range(3))
        self._asked = self._sent = self._retired = 0

    def accept(self, command: Move | Remote, time: int) -> None:
        """Take a command in cycle ``time``."""
        first = self._commands[-1].last if self._commands else 0
        remote = command if isinstance(command, Remote) else None
        # A notify reads a beat as well, which nobody wants.
        last = first + (1 if isinstance(command, Notify)
                        else command.rows * (command.row_bytes // self._bus))
        self._commands.append(_Moving(first, last, not isinstance(command, Load),
                                      self._ports.of(command), time, remote))
        if last > len(self._asks):
            size = max(last, 2 * len(self._asks))
            self._asks, self._ready, self._sends = (
                _grown(old, size) for old in (self._asks, self._ready, self._sends))

    @property
    def free(self) -> int | None:
        """Cycle from which the next command is taken: in which the last beat comes to wait, for
        which there must be room. None when not settled."""
        if not self._commands:
            return 0
        command, depth = self._commands[-1], self._depth
        if self._asked < command.last - depth:
            return None
        gone = command.last - 1 - depth
        room = int(self._asks[gone]) + self._spare if gone >= 0 else 0
        return max(room, command.accepted + min(command.last - command.first, depth))

    def retired(self) -> list[tuple[int, int, int]]:
        """Commands settled since the last call: their number, the cycle of their last beat, and
        that in which they retire."""
        result = []
        while self._retired < len(self._commands):
            command = self._commands[self._retired]
            if command.last > self._sent:
                break
            end = int(self._sends[command.last - 1])
            after = (SEND_RETIRE if command.send is not None
                     else STORE_RETIRE if command.store else LOAD_RETIRE)
            result.append((self._retired, end, end + after))
            self._retired += 1
        return result

    def advance(self, time: int) -> None:
        """Settle what happens up to cycle ``time``, up to which the marks of ports are known."""
        while self._ask(time) or self._send(time):
            pass

    def expected(self, time: int) -> int | None:
        """A cycle after ``time`` to advance to: of the walking command's last beats asked for, or
        of the oldest one's last beat sent, whichever can be first. None when all is settled."""
        if not self._commands or self._sent == self._commands[-1].last:
            return None
        if self._far.network is not None:
            return time + self._wait(time)
        bounds = [self._sent_bound(self._commands[self._retired].last)]
        last = self._commands[-1].last
        if self._asked < last:
            asked = self._asks[self._asked - 1] if self._asked else self._commands[-1].accepted
            bounds.append(int(asked) + max(1, last - self._depth - self._asked))
        return max(time + 1, min(bounds))

    def _wait(self, time: int) -> int:
        """Cycles to the next look, where others use the same links and memory."""
        sending = next(c for c in self._commands[self._retired:] if c.last > self._sent)
        low = self._sent
        if sending.send is not None and low < self._asked:
            return min(ASK_GRAIN, max(1, self._gate(low) - time))
        if low < self._asked:
            last = min(sending.last, self._asked) - 1
            return min(ASK_GRAIN, max(1, int(self._ready[last]) - time))
        return 1 if self._asked < self._commands[-1].last else ASK_GRAIN

    def _gate(self, low: int) -> int:
        """Cycle in which beat ``low`` is sent, if nobody is in its way."""
        before = int(self._sends[low - 1]) + 1 if low else 0
        return max(before, int(self._ready[low]))

    def _sent_bound(self, last: int) -> int:
        """Before this cycle, beat ``last - 1`` is not sent."""
        before = int(self._sends[self._sent - 1]) if self._sent else 0
        gap = 1 if self._commands[self._retired].send is not None else self._gap
        bound = before + int((last - self._sent) * gap)
        if self._asked >= last:
            bound = max(bound, int(self._ready[last - 1]))
        return bound

    def _ask(self, time: int) -> bool:
        """Settle beats asked for; whether there were any."""
        number = self._walking()
        if number is None:
            return False
        command, low = self._commands[number], self._asked
        high = min(command.last, self._left + BEATS_IN_FLIGHT)
        start = self._turn(number)
        if low >= high or start is None:
            return False
        if self._far.network is not None:
            if low and int(self._asks[low - 1]) > time:
                return False
            high = min(high, low + ASK_GRAIN)
        ready = np.full(high - low, max(start, command.accepted + WALK))
        waits = max(0, BEATS_IN_FLIGHT - low)
        if waits < len(ready):
            room = self._leaves(low + waits - BEATS_IN_FLIGHT, high - BEATS_IN_FLIGHT) + 1
            ready[waits:] = np.maximum(ready[waits:], room)
        after = int(self._asks[low - 1]) if low else -1
        if command.store:
            asks = command.port.place(low - command.first, ready, after)
            asks = asks[:np.searchsorted(asks, time, side="right")]
        else:
            asks = spaced(ready, after)
        high = low + len(asks)
        self._asks[low:high], self._asked = asks, high
        self._ready[low:high] = self._arrivals(command, asks)
        return len(asks) > 0

    def _walking(self) -> int | None:
        """Index of the command whose beats are asked for. When the last one has been taken, those
        of commands before it may wait."""
        for number in range(max(0, len(self._commands) - 1 - self._depth), len(self._commands)):
            if self._asked < self._commands[number].last:
                return number
        return None

    @property
    def _left(self) -> int:
        """Beats of which it is settled when they leave the queue: all that were sent, and the next
        ones, which have their registers from then on."""
        return min(self._sent + self._depth, self._asked)

    def _leaves(self, low: int, high: int) -> Ints:
        """Cycles in which beats leave the queue: one cycle before they can be sent, or later, when
        the register has its beat sent."""
        before = np.zeros(high - low, dtype=np.int64)
        first = max(low, self._depth)
        if first < high:
            before[first - low:] = self._sends[first - self._depth:high - self._depth] + self._spare
        return np.maximum(self._ready[low:high] - 1, before)

    def _turn(self, number: int) -> int | None:
        """First cycle in which the bus serves the command's direction; None when not settled."""
        command = self._commands[number]
        if self._asked > command.first or number == 0:
            return 0
        if self._commands[number - 1].store == command.store:
            return 0
        return int(self._sends[command.first - 1]) + 1 if self._sent == command.first else None

    def _arrivals(self, command: _Moving, asks: Ints) -> Ints:
        """First cycle in which each beat asked for can be sent."""
        if command.send is not None:
            return asks + self._read_latency + QUEUE
        if command.store:
            return self._far.pace.place(asks + self._read_latency + QUEUE)
        return self._far.pace.place(asks + REQUEST + self._latency) + QUEUE

    def _send(self, time: int) -> bool:
        """Settle beats sent, of one command; whether there were any."""
        if self._retired_all_sent():
            return False
        command = next(c for c in self._commands[self._retired:] if c.last > self._sent)
        low, high = self._sent, min(command.last, self._asked)
        if low >= high:
            return False
        if command.send is not None:
            if self._gate(low) > time:
                return False
            high = min(high, low + SEND_GRAIN)
        after = int(self._sends[low - 1]) if low else -1
        if command.send is not None:
            assert self._far.network is not None
            sends = self._far.network.send(command.send, self._ready[low:high], after,
                                           last=high == command.last)
        elif command.store:
            sends = spaced(self._ready[low:high], after)
        else:
            sends = command.port.place(low - command.first, self._ready[low:high], after)
            sends = sends[:np.searchsorted(sends, time, side="right")]
        self._sends[low:low + len(sends)] = sends
        self._sent += len(sends)
        return len(sends) > 0

    def _retired_all_sent(self) -> bool:
        return not self._commands or self._sent == self._commands[-1].last


def _grown(old: Ints, size: int) -> Ints:
    grown = np.empty(size, dtype=np.int64)
    grown[:len(old)] = old
    return grown
