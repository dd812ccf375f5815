"""Compilation of an encoder for the cores of a mesh, and its runs on a cluster."""
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.gather import in_order
from systolith.sw.compiler.image import Place
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.schedule_mesh import schedule_mesh
from systolith.sw.compiler.stationary import stationary
from systolith.sw.compiler.tokens import check_tokens, with_tokens
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.encoder.compiled import EmbeddingResult, check_text, count_macs
from systolith.sw.encoder.mesh.lowering import MeshLowering
from systolith.sw.encoder.mesh.plan import plan_mesh
from systolith.sw.encoder.mesh.share import Share, shares_of
from systolith.sw.encoder.mesh.stream import MeshStream
from systolith.sw.encoder.plan import Tiles
from systolith.sw.encoder.shared_image import SharedImage
from systolith.sw.reference.encoder import QuantizedEncoder, embed
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, slowest
from systolith.sw.runtime.mesh_program import MeshProgram


@dataclass(frozen=True)
class CompiledMeshEncoder:
    """An encoder ready to run on texts of one length.

    Parameters
    ----------
    setup : MeshProgram
        Loads the weights that stay in the cores, once for all texts.
    program : MeshProgram
    model : QuantizedEncoder
    shares : sequence of Share
        What each core of the chip does.
    positions : sequence of sequence of int
        Those whose words each core loads, in this order.
    valid : int
        Positions that are tokens.
    words, output : Place
        The vocabulary and the embedding in external memory.
    """

    setup: MeshProgram
    program: MeshProgram
    model: QuantizedEncoder
    shares: Sequence[Share]
    positions: Sequence[Sequence[int]]
    valid: int
    words: Place
    output: Place

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a run of all cores."""
        return self.program.macs

    def load(self, cluster: Cluster) -> None:
        """Write weights and words to the cluster, once for all texts."""
        self.setup.load(cluster)
        self.setup.run(cluster)

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
        cluster.run(self._queues(ids))
        counters = slowest(cluster.wait(max_cycles))
        data = cluster.cores[0].read(self.output.memory, self.output.offset, self.output.size)
        return np.frombuffer(data, "<i2")[:self.model.width].astype(np.int16), counters


    def _queues(self, ids: Sequence[int]) -> list[dict[Engine, list[Command]]]:
        """The commands of each core; what is no token has the word of token 0."""
        padded = [*ids, *[0] * (max(chain(*self.positions)) + 1 - len(ids))]
        return [with_tokens(streams, [padded[position] for position in own], self.words.offset)
                for streams, own in zip(self.program.commands, self.positions, strict=True)]


def compile_encoder_mesh(model: QuantizedEncoder, config: Config, *, length: int,
                         valid: int | None = None, name: str = "encoder") -> CompiledMeshEncoder:
    """Compile an encoder for texts of ``length`` positions on the cores of a mesh.

    Parameters and errors are those of :func:`compile_encoder`; besides, there are limits of the
    mesh, see :func:`shares_of`.
    """
    valid, what = check_text(model, config, length, valid), f"{name} at length {length}"
    shares = shares_of(model, config, length)
    plan = plan_mesh(model, config, length, valid, shares[0], what)
    image, blocks = SharedImage(config), ceil_div(plan.length, plan.block)
    cores, streams, embedded = list[list[Command]](), list[MeshStream](), list[list[int]]()
    for share in shares:
        tiles = Tiles.of(model, config, share.heads[1] - share.heads[0])
        own = plan.of(share, tiles)
        streams.append(MeshStream(model, own, config, image))
        lowering = MeshLowering(model, own, streams[-1], config, blocks)
        cores.append([stationary(command) for command in lowering.commands()])
        embedded.append([own.first + row for block in lowering.blocks
                         for row in range(*share.embedded(block))])
    image.check(what)
    loads = [{Engine.MOVE: stream.settled} for stream in streams]
    commands = schedule_mesh(in_order(cores), config)
    for queues in (loads, commands):
        verify_mesh(config, queues)
    setup = MeshProgram(config, loads, {0: image.sections}, name)
    program = MeshProgram(config, commands, {}, name, count_macs(model, config, length, valid))
    return CompiledMeshEncoder(setup, program, model, shares, embedded, valid, streams[0].words,
                               streams[0].output)
