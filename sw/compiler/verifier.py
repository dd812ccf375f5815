"""Proves a command stream free of deadlock, races and stray addresses, or names the command.

The order that the hardware guarantees is that of vector clocks (Mattern, 1989; Fidge, 1988): a
command starts after those before it in its queue have started, after all of them have retired where
it has a ``fence``, and after the commands of whose signals it knows have retired. One engine waits
for a semaphore; what it knows of those who signal it is said in :mod:`channels`, and why that is so
in :mod:`causality`.

Of a machine with a mesh the engines of all cores are processes, and so is each link: what one core
sends to another arrives in order (:mod:`processes`). A remote signal says that what was sent before
it has arrived, and that its sender's move engine has retired everything up to it.
"""
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import (
    ENGINES,
    Command,
    CommandError,
    Engine,
    Notify,
    Pass,
    Reduce,
    Remote,
    Send,
    Sink,
    Source,
)
from systolith.sw.compiler.causality import causality
from systolith.sw.compiler.channels import channels_of
from systolith.sw.compiler.processes import Processes
from systolith.sw.compiler.queues import Machine, Position, Queues, VerifyError
from systolith.sw.compiler.races import Races
from systolith.sw.reference import addressing
from systolith.sw.reference.addressing import CommandFault, targets
from systolith.sw.runtime.cluster import core_name, switched_off

__all__ = ["Proof", "VerifyError", "verify", "verify_mesh"]


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


def verify_mesh(config: Config, queues: Sequence[Queues], off: Collection[int] = ()) -> Proof:
    """Check the streams of all cores of a machine together.

    Parameters
    ----------
    config : Config
        Of the machine.
    queues : sequence of mappings
        The streams of each core.
    off : collection of int
        Cores that are switched off. Data and signals for them are lost, so a command must not be
        for them alone.

    Returns
    -------
    Proof
        When nothing is wrong.

    Raises
    ------
    VerifyError
        Naming the offending core, command and the reason.
    """
    machine = Machine(Processes(config, switched_off(config, off)), queues)
    for (process, index), command in machine.commands():
        try:
            _check_alone(config, ENGINES[process % len(ENGINES)], index, command)
        except VerifyError as error:
            raise machine.error((process, index), error.reason) from None
        if machine.processes.off:
            _check_reach(machine, (process, index), command)
    channels = channels_of(machine)
    order, clocks = causality(machine, channels)
    deepest = max((each.depth(machine, clocks) for each in channels.values()), default=0)
    words = Races(machine, clocks, channels).check(order)
    return Proof(len(order), words, deepest)


def _check_reach(machine: Machine, position: Position, command: Command) -> None:
    """That a core which is off runs nothing, and that somebody gets what is sent."""
    core, off = position[0] // len(ENGINES), machine.processes.off
    if core in off:
        raise machine.error(position, "the core is switched off and runs nothing")
    if isinstance(command, Send) or (isinstance(command, Notify) and command.remote_signal):
        reached = targets(command, machine.config, core)
        if reached and off.issuperset(reached):
            names = " and ".join(core_name(machine.config, each) for each in reached)
            raise machine.error(position, f"all that it reaches is {names}, which is switched off: "
                                "what it sends is lost")


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
