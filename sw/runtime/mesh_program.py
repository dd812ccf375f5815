"""A program of many cores: the streams of each, and the image of all memories."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters
from systolith.sw.runtime.program import ProgramError, Section


@dataclass(frozen=True)
class MeshProgram:
    """Compiled commands and memory image of a machine with a mesh.

    Parameters
    ----------
    config : Config
        The configuration it was compiled for.
    commands : sequence of mappings
        The streams of each core.
    sections : mapping of int to sequence of Section
        By core, its memory image. External memory is one: give its sections to any core.
    model : str
        What it computes, for reports.
    macs : int
        Useful multiply-accumulates of one run of all cores.
    """

    config: Config
    commands: Sequence[Mapping[Engine, Sequence[Command]]]
    sections: Mapping[int, Sequence[Section]] = field(default_factory=dict)
    model: str = ""
    macs: int = 0

    def load(self, cluster: Cluster) -> None:
        """Write the memory image to all cores.

        Raises
        ------
        ProgramError
            When the cluster's configuration is not the program's.
        """
        if cluster.config.identity != self.config.identity:
            raise ProgramError(f"the program was compiled for {self.config.name!r}, but the "
                               f"cluster is {cluster.config.name!r}; compile it again for it")
        for core, sections in self.sections.items():
            for section in sections:
                cluster.cores[core].write(section.memory, section.offset, section.data)

    def run(self, cluster: Cluster, max_cycles: int = DEFAULT_MAX_CYCLES) -> list[Counters]:
        """Run all cores to the end; the counters of each. Errors are those of Cluster.wait."""
        cluster.run(self.commands)
        return cluster.wait(max_cycles)
