"""Who does something in a machine of several cores, by number: engines, and ways through the mesh.

An engine of a core is a process: it starts and retires its commands in order. What one core sends
to another arrives in order, but later than the command retires; so each pair of cores is a process
too, its *link*: it writes the receiver's memories, in the order of the sender's move queue.
"""
from dataclasses import dataclass

from systolith.hw.config import Config, Region
from systolith.hw.isa import ENGINES, Command, Engine, Remote
from systolith.sw.reference.addressing import Access, accesses, remote_accesses, targets
from systolith.sw.runtime.cluster import core_name

#: A memory of the machine: the core (-1: shared by all) and its name there.
Place = tuple[int, Region | str]


@dataclass(frozen=True)
class Touch:
    """Words that a process touches at a place."""

    process: int
    place: Place
    access: Access


@dataclass(frozen=True)
class Processes:
    """Numbers of the processes of a machine: first the engines core by core, then the links.

    Parameters
    ----------
    config : Config
    off : frozenset of int
        Cores that are switched off. What is sent to them is lost.
    """

    config: Config
    off: frozenset[int] = frozenset()

    @property
    def count(self) -> int:
        """Engines and links together; one core has no links."""
        cores = self.config.cores
        return len(ENGINES) * cores + (cores * cores if cores > 1 else 0)

    def engine(self, core: int, engine: Engine) -> int:
        """The process of a core's engine."""
        return core * len(ENGINES) + engine

    def link(self, source: int, target: int) -> int:
        """The process that writes ``target`` for ``source``."""
        return self.config.cores * (len(ENGINES) + source) + target

    def is_link(self, process: int) -> bool:
        """Whether a process is a link and no engine."""
        return process >= len(ENGINES) * self.config.cores

    def core(self, process: int) -> int:
        """The core that can tell others what the process has done: an engine's own, a link's
        target."""
        if self.is_link(process):
            return process % self.config.cores
        return process // len(ENGINES)

    def source(self, link: int) -> int:
        """The core whose move engine feeds a link."""
        return link // self.config.cores - len(ENGINES)

    def mover(self, link: int) -> int:
        """The move engine that feeds a link."""
        return self.engine(self.source(link), Engine.MOVE)

    def targets(self, core: int, command: Remote) -> list[int]:
        """The cores that a command of a core reaches."""
        return [target for target in targets(command, self.config, core) if target not in self.off]

    def name(self, process: int) -> str:
        """How messages name an engine, with its core where there are others."""
        core, engine = divmod(process, len(ENGINES))
        where = f"{core_name(self.config, core)} " if self.config.cores > 1 else ""
        return f"{where}{ENGINES[engine].name}"

    def touches(self, core: int, command: Command) -> list[Touch]:
        """All words that a command of a core reads and writes, in the whole machine."""
        own = self.engine(core, command.ENGINE)
        result = [Touch(own, (-1 if access.memory == "ext" else core, access.memory), access)
                  for access in accesses(command, self.config)]
        if isinstance(command, Remote):
            reached = self.targets(core, command)
            result += [Touch(self.link(core, target), (target, access.memory), access)
                       for access in remote_accesses(command, self.config) for target in reached]
        return result


def tracked(touches: list[list[Touch]]) -> list[list[Touch]]:
    """Touches without those of places that nothing writes: their order does not matter, and
    external memory is large."""
    written = {touch.place for group in touches for touch in group if touch.access.write}
    return [[touch for touch in group if touch.place in written] for group in touches]
