"""Which cores of a machine a program is for, and how a program gets onto them.

Compilers see a chip of just so many cores, of any shape. What they give is then put onto the cores
of the machine that are to run it: each stream to its core, each target in the mesh to those that
stand for it. Nothing else in a command knows a core's place.
"""
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from systolith.hw.config import MOST_NODES, Config
from systolith.hw.isa import ENGINES, Command, Engine, Notify, Remote, Send
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.reference.addressing import targets
from systolith.sw.runtime.cluster import Cluster, switched_off
from systolith.sw.runtime.device import Device, Queues
from systolith.sw.runtime.mesh_program import MeshProgram
from systolith.sw.runtime.program import Program

#: What a core does, by name: the layers, positions, heads, columns ... from the first on, up to but
#: not with the last. Nothing where the core is off, or spare.
Duty = Mapping[str, Span]


@dataclass(frozen=True)
class Site:
    """Cores of a machine, in the order in which programs number them.

    Parameters
    ----------
    config : Config
        Of the machine.
    cores : tuple of int
        Their numbers there. All others are switched off or have nothing to do.
    """

    config: Config
    cores: tuple[int, ...]

    @classmethod
    def of(cls, config: Config, off: Collection[int] = ()) -> "Site":
        """All cores but those that are ``off``.

        Raises
        ------
        ConfigError
            When one of these does not exist, or none is left.
        """
        off = switched_off(config, off)
        return cls(config, tuple(core for core in range(config.cores) if core not in off))

    @classmethod
    def of_machine(cls, machine: Device | Cluster) -> "Site":
        """All cores of a machine that are on."""
        return cls.of(machine.config, machine.off if isinstance(machine, Cluster) else ())

    @property
    def whole(self) -> bool:
        """Whether it is all of the machine."""
        return len(self.cores) == self.config.cores

    def idle(self, duties: Sequence[Duty]) -> tuple[int, ...]:
        """The cores of the site that have nothing to do, where the machine's have these duties."""
        return tuple(core for core in self.cores if not duties[core])

    @property
    def chip(self) -> Config:
        """A chip of just these cores, for which compilers compile; the machine where it is whole.

        Raises
        ------
        CompileError
            When no rectangle has so many cores.
        """
        count = len(self.cores)
        if self.whole:
            return self.config
        if count == 1:
            return self.config.core
        # As near to a square as it can be: then no row is longer than it must be.
        width = next((width for width in range(1, MOST_NODES + 1)
                      if count % width == 0 and count // width <= width), None)
        if width is None:
            raise CompileError(f"{count} cores of {self.config.name!r} are left, which are no "
                               f"rectangle with sides up to {MOST_NODES}; leave out one more")
        return self.config.replace(name=f"{self.config.core.name}@{width}x{count // width}",
                                   mesh_width=width, mesh_height=count // width)

    def place(self, program: MeshProgram) -> MeshProgram:
        """A program for :attr:`chip` as one for the machine, verified anew where it is moved.

        Raises
        ------
        VerifyError
            When the program was not right for the chip either.
        """
        placed = self.moved(program)
        if not self.whole:
            verify_mesh(self.config, placed.commands, set(range(self.config.cores)) - {*self.cores})
        return placed

    def moved(self, program: MeshProgram) -> MeshProgram:
        """A program for :attr:`chip` on the cores of the site; the others have empty streams."""
        if self.whole:
            return program
        streams = self.streams([
            {engine: self._placed(core, commands) for engine, commands in queues.items()}
            for core, queues in zip(self.cores, program.commands, strict=True)])
        sections = {self.cores[core]: own for core, own in program.sections.items()}
        return replace(program, config=self.config, commands=streams, sections=sections)

    def everywhere(self, program: Program) -> MeshProgram:
        """A program for a core alone, with its data in external memory, on each of the cores."""
        count = len(self.cores)
        return MeshProgram(self.config, self.streams([program.commands] * count),
                           {self.cores[0]: program.sections}, program.model, program.macs * count)

    def streams(self, queues: Sequence[Queues]) -> list[dict[Engine, list[Command]]]:
        """Streams of all cores of the machine, of which the first cores of the site have these."""
        streams: list[dict[Engine, list[Command]]] = [
            {engine: [] for engine in ENGINES} for _ in range(self.config.cores)]
        for core, own in zip(self.cores, queues, strict=False):
            streams[core] |= {engine: list(commands) for engine, commands in own.items()}
        return streams

    def _placed(self, core: int, commands: Sequence[Command]) -> list[Command]:
        return [placed for command in commands for placed in (
            self._targeted(core, command) if isinstance(command, Remote) else (command,))]

    def _targeted(self, core: int, command: Remote) -> Iterator[Command]:
        """The command for the cores that stand for its targets: one where a rectangle holds only
        these and such that do not mind, else one for each; signals then come behind all data."""
        reached = targets(command, self.chip, self.cores.index(core))
        wanted = {self.cores[target] for target in reached} or {core}
        free: set[int] = set()
        if isinstance(command, Send) and not command.remote_signal:
            # Data do no harm in a core that is no part of this.
            free = set(range(self.config.cores)) - set(self.cores)
        around = self._around(wanted)
        if set(targets(replace(command, **around), self.config, core)) <= wanted | free:
            yield replace(command, **around)
            return
        if isinstance(command, Send) and command.remote_signal:
            yield from self._targeted(core, replace(command, remote_signal=0))
            for target in sorted(wanted):
                yield Notify(remote_signal=command.remote_signal, **self._around({target}))
            return
        last = max(wanted)
        for number, target in enumerate(sorted(wanted)):
            changes = self._around({target})
            if number:
                changes |= {"wait": 0, "fence": 0}
            if target != last:
                changes |= {"signal": 0}
            yield replace(command, **changes)

    def _around(self, cores: Collection[int]) -> dict[str, int]:
        """The smallest rectangle that has all these cores."""
        xs, ys = ([place[axis] for place in (divmod(core, self.config.mesh_width)
                                             for core in cores)] for axis in (1, 0))
        return {"x_first": min(xs), "x_last": max(xs), "y_first": min(ys), "y_last": max(ys)}
