"""What a program has each core do, keep, load and send: read off its commands.

Bytes are those of one run. A memory's words count as used where any command of the core, any send
of another core or the image touches them.
"""
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import MEMORIES, Config, Region
from systolith.hw.isa import ENGINES, Command, Engine, Load, Product, Remote, Send, Store
from systolith.sw.reference.addressing import accesses, memory_words, remote_accesses, targets
from systolith.sw.runtime.mesh_program import MeshProgram


@dataclass(frozen=True)
class CoreSurvey:
    """One core.

    Parameters
    ----------
    commands : mapping of Engine to int
    array_beats : int
        Beats of its array.
    kept : mapping of Region to int
        Bytes that are there before the run: loaded once, or written by the host.
    loaded, received : mapping of Region to int
        Bytes out of external memory, and out of the mesh, by the memory into which they go.
    stored, sent : int
        Bytes to external memory, and into the mesh; what goes to several cores counts once.
    used : mapping of Region to float
        Part of each memory that is used, 0 to 1.
    """

    commands: Mapping[Engine, int]
    array_beats: int
    kept: Mapping[Region, int]
    loaded: Mapping[Region, int]
    received: Mapping[Region, int]
    stored: int
    sent: int
    used: Mapping[Region, float]


@dataclass(frozen=True)
class Packets:
    """Packets of one command: the core that sends them, the nodes that get them, how many."""

    source: int
    command: Remote
    count: int


def survey(program: MeshProgram, setup: MeshProgram | None = None,
           off: Collection[int] = ()) -> list[CoreSurvey]:
    """All cores of a machine.

    Parameters
    ----------
    program : MeshProgram
        What runs every time.
    setup : MeshProgram, optional
        What has run once before it.
    off : collection of int
        Cores that are switched off; what is sent to them is lost.
    """
    config = program.config
    images = setup or program
    before = [_Counts(config) for _ in range(config.cores)]
    during = [_Counts(config) for _ in range(config.cores)]
    used = _Used(config, off)
    for core, sections in images.sections.items():
        for section in sections:
            if isinstance(section.memory, Region):
                before[core].loaded[section.memory] += len(section.data)
                used.section(core, section.memory, section.offset, len(section.data))
    for counts, each in ((before, setup), (during, program)):
        for core, command in () if each is None else _commands(each):
            _count(counts, core, command, used.reached(core, command))
            used.command(core, command)
    return [CoreSurvey(
        {engine: len(program.commands[core].get(engine, ())) for engine in ENGINES}, counts.beats,
        _sum(before[core].loaded, before[core].received), counts.loaded, counts.received,
        counts.stored, counts.sent, used.parts(core)) for core, counts in enumerate(during)]


def packets(program: MeshProgram) -> list[Packets]:
    """What goes into the mesh: a packet a beat of data, and one for signals."""
    bus = program.config.bus_bytes
    return [Packets(core, command, data // bus + bool(command.remote_signal))
            for core, command in _commands(program) if isinstance(command, Remote)
            for data in (_data(command),)]


class _Counts:
    """Bytes and beats of a core."""

    def __init__(self, config: Config):
        self.loaded, self.received = dict.fromkeys(MEMORIES, 0), dict.fromkeys(MEMORIES, 0)
        self.stored = self.sent = self.beats = 0


def _count(cores: Sequence[_Counts], core: int, command: Command,
           reached: Sequence[int]) -> None:
    own = cores[core]
    if isinstance(command, Product):
        own.beats += command.count0 * command.count1 * command.count2
    elif isinstance(command, Load):
        own.loaded[Region(command.region)] += command.rows * command.row_bytes
    elif isinstance(command, Store):
        own.stored += command.rows * command.row_bytes
    elif isinstance(command, Send):
        own.sent += _data(command)
        for target in reached:
            cores[target].received[Region(command.remote_region)] += _data(command)


def _data(command: Remote) -> int:
    return command.rows * command.row_bytes if isinstance(command, Send) else 0


def _commands(program: MeshProgram) -> list[tuple[int, Command]]:
    return [(core, command) for core, streams in enumerate(program.commands)
            for commands in streams.values() for command in commands]


def _sum(first: Mapping[Region, int], second: Mapping[Region, int]) -> dict[Region, int]:
    return {region: first[region] + second[region] for region in MEMORIES}


class _Used:
    """Which words of all memories are used."""

    def __init__(self, config: Config, off: Collection[int]):
        self._config, self._off = config, off
        self._sizes = {region: memory_words(config)[region] for region in MEMORIES}
        self._words: list[dict[Region, NDArray[np.bool_]]] = [
            {region: np.zeros(size, np.bool_) for region, size in self._sizes.items()}
            for _ in range(config.cores)]

    def section(self, core: int, region: Region, offset: int, size: int) -> None:
        word = self._config.region_bytes(region) // self._sizes[region]
        self._words[core][region][offset // word:-(-(offset + size) // word)] = True

    def reached(self, core: int, command: Command) -> list[int]:
        """The cores that get the data of a command."""
        return [target for target in targets(command, self._config, core)
                if target not in self._off] if isinstance(command, Remote) else []

    def command(self, core: int, command: Command) -> None:
        for access in accesses(command, self._config):
            if isinstance(access.memory, Region):
                self._words[core][access.memory][access.words] = True
        for access in remote_accesses(command, self._config):
            for target in self.reached(core, command):
                if isinstance(access.memory, Region):
                    self._words[target][access.memory][access.words] = True

    def parts(self, core: int) -> dict[Region, float]:
        return {region: float(words.mean()) for region, words in self._words[core].items()}
