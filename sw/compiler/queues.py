"""The queues of all engines of a machine, and how messages name a command in them."""
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from systolith.hw.isa import ENGINES, Command, Engine
from systolith.sw.compiler.processes import Processes
from systolith.sw.runtime.cluster import core_name

Queues = Mapping[Engine, Sequence[Command]]
#: For each process how many of its commands are known to have retired, or of a link, to have
#: arrived.
Clock = NDArray[np.int32]
#: Process and index of a command in its queue.
Position = tuple[int, int]


class VerifyError(ValueError):
    """A stream that must not reach the hardware. ``core``, ``engine`` and ``index`` name the
    command; ``where`` is what the message calls its core, nothing where there is one alone."""

    def __init__(self, engine: Engine, index: int, reason: str, *, core: int = 0, where: str = ""):
        super().__init__(f"{where}{engine.name} command {index}: {reason}")
        self.core, self.engine, self.index, self.reason = core, engine, index, reason


class Machine:
    """The queues of all engines by process, and the names of commands."""

    def __init__(self, processes: Processes, queues: Sequence[Queues]):
        self.processes, self.config = processes, processes.config
        if len(queues) != self.config.cores:
            raise ValueError(f"{len(queues)} sets of queues for {self.config.cores} cores")
        self.queues = [each.get(engine, ()) for each in queues for engine in ENGINES]

    def commands(self) -> Iterator[tuple[Position, Command]]:
        """All commands and where they stand."""
        for process, queue in enumerate(self.queues):
            for index, command in enumerate(queue):
                yield (process, index), command

    def engine(self, process: int) -> int:
        """The engine that does what a process does: that of a link is its sender's mover."""
        if not self.processes.is_link(process):
            return process
        return self.processes.mover(process)

    def command(self, position: Position) -> Command:
        """The command that stands there."""
        return self.queues[self.engine(position[0])][position[1]]

    def name(self, process: int) -> str:
        """How messages name the engine of a process."""
        return self.processes.name(self.engine(process))

    def _where(self, engine: int) -> str:
        """The core of an engine's process, where there are others."""
        if self.config.cores == 1:
            return ""
        return f"{core_name(self.config, engine // len(ENGINES))} "

    def error(self, position: Position, reason: str) -> VerifyError:
        """An error that names the command."""
        process = self.engine(position[0])
        core, engine = divmod(process, len(ENGINES))
        return VerifyError(ENGINES[engine], position[1], reason, core=core,
                           where=self._where(process))


class Clocks:
    """The clock of each command at its start, all zero at first."""

    def __init__(self, machine: Machine):
        self._starts = np.cumsum([0, *map(len, machine.queues)]).tolist()
        self._rows = np.zeros((self._starts[-1], machine.processes.count), np.int32)

    def __getitem__(self, position: Position) -> Clock:
        """That of a command of an engine."""
        return self._rows[self._starts[position[0]] + position[1]]

    def column(self, engine: int, process: int) -> Clock:
        """What each command of an engine knows of a process."""
        return self._rows[self._starts[engine]:self._starts[engine + 1], process]
