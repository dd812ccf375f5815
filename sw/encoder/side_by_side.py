"""An encoder on several cores, each with a text of its own.

Every core runs the program of a core alone. They share the image in external memory; only the
embeddings have places of their own.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from systolith.hw.isa import Command, Engine, Store
from systolith.sw.compiler.allocate import check_external
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.site import Duty, Site
from systolith.sw.encoder.compiled import CompiledEncoder, compile_encoder
from systolith.sw.encoder.placed import PlacedEncoder, whole
from systolith.sw.reference.encoder import QuantizedEncoder
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, slowest
from systolith.sw.runtime.mesh_program import MeshProgram


@dataclass(frozen=True)
class SideBySideEncoder(PlacedEncoder):
    """An encoder for as many texts of one length at a time as a site has cores.

    Parameters
    ----------
    alone : CompiledEncoder
        For a core alone.
    site : Site
    outputs : sequence of int
        Where in external memory each text's embedding goes.
    """

    alone: CompiledEncoder
    site: Site
    outputs: Sequence[int]

    @property
    def at_once(self) -> int:
        """Texts that run at the same time."""
        return len(self.site.cores)

    @property
    def program(self) -> MeshProgram:
        program = self.alone.program
        return MeshProgram(self.site.config, self._streams([program.commands] * self.at_once),
                           {self.site.cores[0]: program.sections}, program.model,
                           program.macs * self.at_once)

    def duties(self) -> list[Duty]:
        duties: list[Duty] = [{} for _ in range(self.site.config.cores)]
        for text, core in enumerate(self.site.cores):
            duties[core] = {**whole(self.alone.model), "positions": (0, self.alone.length),
                            "texts": (text, text + 1)}
        return duties

    def embed_texts(self, cluster: Cluster, texts: Sequence[Sequence[int]],
                    max_cycles: int = DEFAULT_MAX_CYCLES
                    ) -> tuple[list[NDArray[np.int16]], Counters]:
        if len(texts) > self.at_once:
            raise CompileError(f"{len(texts)} texts at once for {self.at_once} cores; give at most "
                               "one a core")
        cluster.run(self._streams([self.alone.queues(ids) for ids in texts]))
        counters = slowest(cluster.wait(max_cycles))
        return [self._output(cluster, place) for place in range(len(texts))], counters

    def _streams(self, queues: Sequence[Mapping[Engine, Sequence[Command]]]
                 ) -> list[dict[Engine, list[Command]]]:
        """Streams of all cores of the machine; text ``n`` has the ``n``-th core of the site."""
        return self.site.streams([
            {engine: [self._moved(command, place) for command in commands]
             for engine, commands in own.items()} for place, own in enumerate(queues)])

    def _moved(self, command: Command, place: int) -> Command:
        """The only store of a program is that of the embedding."""
        if not isinstance(command, Store):
            return command
        first = command.ext_base - self.alone.output.offset
        return replace(command, ext_base=self.outputs[place] + first)

    def _output(self, cluster: Cluster, place: int) -> NDArray[np.int16]:
        data = cluster.cores[0].read("ext", self.outputs[place], self.alone.output.size)
        return np.frombuffer(data, "<i2")[:self.alone.model.width].astype(np.int16)


def compile_encoder_side_by_side(model: QuantizedEncoder, site: Site, *, length: int,
                                 name: str = "encoder") -> SideBySideEncoder:
    """Compile an encoder for texts of ``length`` tokens, one on each core of a site.

    Errors are those of :func:`compile_encoder`.
    """
    alone = compile_encoder(model, site.config.core, length=length, name=name)
    output, others = alone.output, len(site.cores) - 1
    # Behind the image; the first has the place that it has on a core alone.
    end = max(section.offset + len(section.data) for section in alone.program.sections)
    check_external(site.config, end + others * output.size, f"{name} at length {length}")
    return SideBySideEncoder(alone, site, (
        output.offset, *(end + place * output.size for place in range(others))))
