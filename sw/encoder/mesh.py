"""An encoder on several cores, each with a part of the positions of a text.

A core has its positions from the embedding to the last norm, and uses all weights: they come out of
external memory once and go around through the mesh. Only keys and values cross it besides. Nothing
is added across cores, so all integers are those of a single core.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import Command
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.gather import in_order
from systolith.sw.compiler.image import Place
from systolith.sw.compiler.schedule_mesh import schedule_mesh
from systolith.sw.compiler.sharing import tiled
from systolith.sw.compiler.tokens import check_tokens, with_tokens
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.encoder.compiled import EmbeddingResult, check_text, count_macs
from systolith.sw.encoder.lowering import EncoderLowering
from systolith.sw.encoder.plan import plan_encoder
from systolith.sw.encoder.shared_stream import SharedImage, SharedStream
from systolith.sw.reference.encoder import QuantizedEncoder, embed
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, slowest
from systolith.sw.runtime.mesh_program import MeshProgram

#: Cores that share an encoder at most: each needs a semaphore for each other, twice.
MOST_CORES = 4


@dataclass(frozen=True)
class CompiledMeshEncoder:
    """An encoder ready to run on texts of one length.

    Parameters
    ----------
    program : MeshProgram
    model : QuantizedEncoder
    positions : sequence of Span
        Of each core.
    valid : int
        Positions that are tokens.
    output : Place
        The embedding in external memory.
    """

    program: MeshProgram
    model: QuantizedEncoder
    positions: Sequence[Span]
    valid: int
    output: Place

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a run of all cores."""
        return self.program.macs

    def load(self, cluster: Cluster) -> None:
        """Write weights and words to the cluster, once for all texts."""
        self.program.load(cluster)

    def run(self, cluster: Cluster, ids: Sequence[int],
            max_cycles: int = DEFAULT_MAX_CYCLES) -> EmbeddingResult:
        """Run on a cluster that :meth:`load` has prepared, and compare with the reference."""
        output, counters = self.embed(cluster, ids, max_cycles)
        return EmbeddingResult(output, embed(ids, self.model).astype(np.int16), counters)

    def embed(self, cluster: Cluster, ids: Sequence[int],
              max_cycles: int = DEFAULT_MAX_CYCLES) -> tuple[NDArray[np.int16], Counters]:
        """INT16 (d,), Q0.15, and the counters of all cores; cycles are those of the slowest.

        Raises
        ------
        CompileError
            When the number of tokens is not the compiled one, or one is outside the vocabulary.
        """
        if len(ids) != self.valid:
            raise CompileError(f"the text has {len(ids)} tokens, but the encoder was compiled for "
                               f"{self.valid}")
        check_tokens(ids, self.model.vocabulary, self.program.model)
        cluster.run([with_tokens(streams, ids[slice(*own)]) for streams, own in
                     zip(self.program.commands, self.positions, strict=True)])
        counters = slowest(cluster.wait(max_cycles))
        data = cluster.cores[0].read(self.output.memory, self.output.offset, self.output.size)
        return np.frombuffer(data, "<i2")[:self.model.width].astype(np.int16), counters


def compile_encoder_mesh(model: QuantizedEncoder, config: Config, *, length: int,
                         valid: int | None = None, name: str = "encoder") -> CompiledMeshEncoder:
    """Compile an encoder for texts of ``length`` positions on the cores of a mesh.

    Parameters and errors are those of :func:`compile_encoder`; besides, every core needs a tile of
    positions, and there are at most :data:`MOST_CORES` cores.
    """
    valid, what = check_text(model, config, length, valid), f"{name} at length {length}"
    positions = _positions(config, length)
    plan = plan_encoder(model, config, length, valid, what, positions[0][1])
    image, cores, outputs = SharedImage(config), list[list[Command]](), list[Place]()
    for number, own in enumerate(positions):
        weights = SharedStream(model, plan.of(own), config, image, number)
        parts = EncoderLowering(model, plan.of(own), weights, config, number).parts()
        cores.append([command for part in parts.values() for command in part])
        outputs.append(weights.output)
    image.check(what)
    streams = schedule_mesh(in_order(cores), config)
    verify_mesh(config, streams)
    program = MeshProgram(config, streams, {0: tuple(image.sections)}, name,
                          count_macs(model, config, length, valid))
    return CompiledMeshEncoder(program, model, positions, valid, outputs[0])


def _positions(config: Config, length: int) -> list[Span]:
    """Positions of each core in whole tiles; the first has the most."""
    if config.cores > MOST_CORES:
        raise CompileError(f"configuration {config.name!r} has {config.cores} cores, but one "
                           f"encoder runs on at most {MOST_CORES}, such as 'mesh4'")
    granule = max(config.rows, config.cols)
    least = (config.cores - 1) * granule + 1
    if length < least:
        raise CompileError(f"length must be at least {least} on the {config.cores} cores of "
                           f"{config.name!r}, {granule} positions a core, not {length}; compile a "
                           "longer text of which fewer positions are valid, or take "
                           f"{config.core.name!r}")
    return tiled(length, granule, config.cores)
