"""A pipeline of layers as a placement: texts of one length, one right after the other."""
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.sharing import even
from systolith.sw.compiler.site import Duty, Site
from systolith.sw.encoder.pipeline import CompiledPipeline, compile_encoder_pipeline
from systolith.sw.encoder.placed import PlacedEncoder, whole
from systolith.sw.reference.encoder import QuantizedEncoder
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, slowest
from systolith.sw.runtime.mesh_program import MeshProgram

#: Texts of a run for each stage: the more, the less filling and draining the pipeline counts.
TEXTS_A_STAGE = 2


def texts_of(site: Site) -> int:
    """Texts of a run."""
    return TEXTS_A_STAGE * len(site.cores)


@dataclass(frozen=True)
class PlacedPipeline(PlacedEncoder):
    """A core has some of the layers, and texts go from core to core.

    Parameters
    ----------
    compiled : CompiledPipeline
        For the machine.
    """

    compiled: CompiledPipeline

    @classmethod
    def on(cls, site: Site, model: QuantizedEncoder, length: int, name: str) -> "PlacedPipeline":
        """Compile for the site's chip, and put it onto the machine.

        Errors are those of :func:`compile_encoder_pipeline`.
        """
        compiled = compile_encoder_pipeline(model, site.chip, length=length, texts=texts_of(site),
                                            name=name)
        return cls(replace(compiled, program=site.place(compiled.program),
                           stages=[site.cores[stage] for stage in compiled.stages]))

    @property
    def program(self) -> MeshProgram:
        return self.compiled.program

    def duties(self) -> list[Duty]:
        model, stages = self.compiled.model, self.compiled.stages
        duties: list[Duty] = [{} for _ in range(self.program.config.cores)]
        for core, layers in zip(stages, even(len(model.layers), len(stages)), strict=True):
            duties[core] = {**whole(model), "layers": layers,
                            "positions": (0, self.compiled.length)}
        return duties

    def embed_texts(self, cluster: Cluster, texts: Sequence[Sequence[int]],
                    max_cycles: int = DEFAULT_MAX_CYCLES
                    ) -> tuple[list[NDArray[np.int16]], Counters]:
        """As of every placement. The program is for a number of texts, so where there are fewer,
        the last one runs several times."""
        most = len(self.compiled.outputs)
        if not 1 <= len(texts) <= most:
            raise CompileError(f"{len(texts)} texts for a pipeline of {most}; give at least one, "
                               "and not more than that")
        filled = [*texts, *[texts[-1]] * (most - len(texts))]
        vectors, counters = self.compiled.embed(cluster, filled, max_cycles)
        return list(vectors[:len(texts)]), slowest(counters)
