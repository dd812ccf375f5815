"""Proves a command stream free of deadlock, races and stray addresses, or names the command.

The order that the hardware guarantees is that of vector clocks (Mattern, 1989; Fidge, 1988): a
command starts after those before it in its queue have started, after all of them have retired where
it has a ``fence``, and after the commands whose signals it waits for have retired. Every semaphore
belongs to one signalling and one waiting engine, so its k-th wait takes the k-th signal and the
order does not depend on timing.

Of a machine with a mesh the engines of all cores are processes, and so is each link: what one core
sends to another arrives in order (:mod:`processes`). A remote signal says that what was sent before
it has arrived, and that its sender's move engine has retired everything up to it.
"""
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import (
    ENGINES,
    Command,
    CommandError,
    Engine,
    Pass,
    Reduce,
    Remote,
    Sink,
    Source,
)
from systolith.sw.compiler.processes import Processes
from systolith.sw.compiler.queues import Clock, Machine, Position, Queues, VerifyError
from systolith.sw.compiler.races import Races
from systolith.sw.reference import addressing
from systolith.sw.reference.addressing import CommandFault, targets

__all__ = ["Proof", "VerifyError", "verify", "verify_mesh"]

#: Core and number of a semaphore.
Semaphore = tuple[int, int]


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
    return verify_mesh(config, [queues])


def verify_mesh(config: Config, queues: Sequence[Queues]) -> Proof:
    """Check the streams of all cores of a machine together.

    Parameters
    ----------
    config : Config
        Of the machine.
    queues : sequence of mappings
        The streams of each core.

    Returns
    -------
    Proof
        When nothing is wrong.

    Raises
    ------
    VerifyError
        Naming the offending core, command and the reason.
    """
    machine = Machine(Processes(config), queues)
    for (process, index), command in machine.commands():
        try:
            _check_alone(config, ENGINES[process % len(ENGINES)], index, command)
        except VerifyError as error:
            raise machine.error((process, index), error.reason) from None
    channels = _channels(machine)
    order, clocks = _execute(machine, channels)
    deepest = _check_depth(machine, channels, clocks)
    words = Races(machine, clocks).check(order)
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
    for name in ("wait", "signal", *(("remote_signal",) if isinstance(command, Remote) else ())):
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


def _channels(machine: Machine) -> dict[Semaphore, _Channel]:
    channels: dict[Semaphore, _Channel] = defaultdict(lambda: _Channel([], []))
    processes = machine.processes
    for (process, index), command in machine.commands():
        core = processes.core(process)
        for number in _bits(command.signal):
            channels[core, number].signals.append((process, index))
        for number in _bits(command.wait):
            channels[core, number].waits.append((process, index))
        if isinstance(command, Remote):
            for target in targets(command, machine.config, core):
                for number in _bits(command.remote_signal):
                    channels[target, number].signals.append((processes.link(core, target), index))
    for (_, number), channel in channels.items():
        _check_channel(machine, number, channel)
    return channels


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def _check_channel(machine: Machine, number: int, channel: _Channel) -> None:
    for users, verb in ((channel.signals, "signalled"), (channel.waits, "waited for")):
        for position in users:
            if position[0] != users[0][0]:
                raise machine.error(position, f"semaphore {number} is {verb} by "
                                    f"{machine.name(users[0][0])} too; each needs one engine on "
                                    "either side")
    signals, waits = len(channel.signals), len(channel.waits)
    if waits > signals:
        raise machine.error(channel.waits[signals], f"waits for semaphore {number} which nobody "
                            f"signals ({signals} signals, {waits} waits)")
    if signals > waits:
        raise machine.error(channel.signals[waits], f"signals semaphore {number} which nobody "
                            f"waits for ({signals} signals, {waits} waits)")


def _execute(machine: Machine, channels: dict[Semaphore, _Channel]
             ) -> tuple[list[Position], dict[Position, Clock]]:
    """An order in which all commands can run, and the clock of each at its start.

    Entry ``p`` of a clock: how many commands of process ``p`` are known to have retired, or of a
    link, to have arrived.
    """
    needs: dict[Position, list[Position]] = {}
    for channel in channels.values():
        for waiter, signaller in zip(channel.waits, channel.signals, strict=True):
            needs.setdefault(waiter, []).append(signaller)
    clocks: dict[Position, Clock] = {}
    order: list[Position] = []
    heads = [0] * len(machine.queues)
    progress = True
    while progress:
        progress = False
        for process, queue in enumerate(machine.queues):
            while heads[process] < len(queue):
                here = (process, heads[process])
                if any((machine.engine(p), i) not in clocks for p, i in needs.get(here, ())):
                    break
                clocks[here] = _start_clock(machine, here, needs.get(here, ()), clocks)
                order.append(here)
                heads[process] += 1
                progress = True
    _check_finished(machine, heads, needs, clocks)
    return order, clocks


def _start_clock(machine: Machine, here: Position, needed: Sequence[Position],
                 clocks: dict[Position, Clock]) -> Clock:
    process, index = here
    clock = list(clocks[process, index - 1]) if index else [0] * machine.processes.count
    if machine.command(here).fence:
        clock[process] = index
    for other, position in needed:
        known = list(clocks[machine.engine(other), position])
        # Retirement is in order, so everything before the signaller has retired, too.
        known[other] = known[machine.engine(other)] = position + 1
        clock = [max(pair) for pair in zip(clock, known, strict=True)]
    return tuple(clock)


def _check_finished(machine: Machine, heads: Sequence[int], needs: dict[Position, list[Position]],
                    clocks: dict[Position, Clock]) -> None:
    stuck = [(process, heads[process]) for process, queue in enumerate(machine.queues)
             if heads[process] < len(queue)]
    if stuck:
        parts = [f"{machine.name(here[0])} command {here[1]} waits for "
                 + " and ".join(f"{machine.name(p)} command {i}" for p, i in needs[here]
                                if (machine.engine(p), i) not in clocks) for here in stuck]
        raise machine.error(stuck[0], "deadlock: " + "; ".join(parts))


def _check_depth(machine: Machine, channels: dict[Semaphore, _Channel],
                 clocks: dict[Position, Clock]) -> int:
    """Largest value any semaphore can reach; it must fit the counter."""
    limit, deepest = (1 << machine.config.semaphore_width) - 1, 0
    for (_, number), channel in channels.items():
        places = [place for _, place in channel.waits]
        for count, (process, index) in enumerate(channel.signals, start=1):
            consumer = channel.waits[0][0]
            taken = bisect_left(places, clocks[machine.engine(process), index][consumer])
            deepest = max(deepest, count - taken)
            if count - taken > limit:
                raise machine.error((process, index), f"semaphore {number} can reach "
                                    f"{count - taken}, but holds at most {limit}")
    return deepest
