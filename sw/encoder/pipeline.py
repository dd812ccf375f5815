"""An encoder as a pipeline: each core has some of the layers, and texts go from core to core.

Every core works on another text, so the whole chip is busy once there are as many texts on their
way as stages. A core does what a single one would with its layers, in the same integers.
"""
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine, Load
from systolith.sw.compiler.allocate import CapacityError, with_advice
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.image import Place
from systolith.sw.compiler.schedule_mesh import schedule_mesh
from systolith.sw.compiler.sharing import even
from systolith.sw.compiler.tokens import check_tokens
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.encoder.compiled import check_text, count_macs
from systolith.sw.encoder.plan import EncoderPlan, plan_encoder
from systolith.sw.encoder.shared_image import SharedImage
from systolith.sw.encoder.stage import Stage, in_turn
from systolith.sw.reference.encoder import QuantizedEncoder, embed_all
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters
from systolith.sw.runtime.mesh_program import MeshProgram

#: Texts whose residuals are in a core: the one it works on, and the next.
RESIDUALS = 2


@dataclass(frozen=True)
class PipelineResult:
    """Unit vectors INT16 (texts, d), Q0.15, as the cluster and as the integer reference gave them,
    and the counters of each core."""

    output: NDArray[np.int16]
    expected: NDArray[np.int16]
    counters: Sequence[Counters]

    @property
    def bit_exact(self) -> bool:
        """Whether every output byte equals the integer reference."""
        return bool(np.array_equal(self.output, self.expected))


@dataclass(frozen=True)
class CompiledPipeline:
    """A pipeline ready to run on a number of texts of one length.

    Parameters
    ----------
    program : MeshProgram
        All texts together.
    model : QuantizedEncoder
    stages : sequence of int
        The cores in the order in which a text comes to them.
    length, valid : int
        Positions of a text, and how many of them are tokens.
    outputs : sequence of Place
        The unit vector of each text in external memory.
    words : int
        Address of the vocabulary in external memory.
    """

    program: MeshProgram
    model: QuantizedEncoder
    stages: Sequence[int]
    length: int
    valid: int
    outputs: Sequence[Place]
    words: int

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a run of all texts."""
        return self.program.macs

    def load(self, cluster: Cluster) -> None:
        """Write weights and words to the cluster, once for all runs."""
        self.program.load(cluster)

    def run(self, cluster: Cluster, texts: Sequence[Sequence[int]],
            max_cycles: int = DEFAULT_MAX_CYCLES) -> PipelineResult:
        """Run on a cluster that :meth:`load` has prepared, and compare with the reference."""
        output, counters = self.embed(cluster, texts, max_cycles)
        return PipelineResult(output, embed_all(texts, self.model).astype(np.int16), counters)

    def embed(self, cluster: Cluster, texts: Sequence[Sequence[int]],
              max_cycles: int = DEFAULT_MAX_CYCLES
              ) -> tuple[NDArray[np.int16], list[Counters]]:
        """INT16 (texts, d), Q0.15, and the counters of each core.

        Raises
        ------
        CompileError
            When the number of texts or of their tokens is not the compiled one, or a token is
            outside the vocabulary.
        """
        cluster.run(self.streams(texts))
        counters = cluster.wait(max_cycles)
        rows = [np.frombuffer(cluster.cores[0].read(each.memory, each.offset, each.size), "<i2")
                for each in self.outputs]
        return np.stack(rows)[:, :self.model.width].astype(np.int16), counters

    def streams(self, texts: Sequence[Sequence[int]]) -> list[dict[Engine, list[Command]]]:
        """The commands of all cores for these texts; errors as of :meth:`embed`."""
        self.check(texts)
        streams = [{engine: list(stream) for engine, stream in core.items()}
                   for core in self.program.commands]
        padding = (0,) * (self.length - self.valid)
        self._look_up(streams[self.stages[0]][Engine.MOVE],
                      [*chain.from_iterable((*ids, *padding) for ids in texts)])
        return streams

    def check(self, texts: Sequence[Sequence[int]]) -> None:
        """Raise the errors of :meth:`embed`."""
        if len(texts) != len(self.outputs):
            raise CompileError(f"there are {len(texts)} texts, but the pipeline was compiled for "
                               f"{len(self.outputs)}")
        for number, ids in enumerate(texts):
            if len(ids) != self.valid:
                raise CompileError(f"text {number} has {len(ids)} tokens, but the pipeline was "
                                   f"compiled for {self.valid}")
            check_tokens(ids, self.model.vocabulary, self.program.model)

    def _look_up(self, moves: list[Command], ids: Sequence[int]) -> None:
        """Let the loads of words, which are of token 0, fetch those of ``ids``."""
        places = [place for place, move in enumerate(moves)
                  if isinstance(move, Load) and move.ext_base == self.words]
        for place, token in zip(places, ids, strict=True):
            move = moves[place]
            assert isinstance(move, Load)
            moves[place] = dataclasses.replace(move, ext_base=self.words + token * move.row_bytes)


def compile_encoder_pipeline(model: QuantizedEncoder, config: Config, *, length: int, texts: int,
                             valid: int | None = None, name: str = "encoder"
                             ) -> CompiledPipeline:
    """Compile an encoder for a number of texts, one right after the other, on the cores of a mesh.

    The layers are shared out evenly. Stages that follow each other lie side by side in the mesh.
    Where there are more cores than layers, the others have nothing to do.

    Parameters
    ----------
    model : QuantizedEncoder
    config : Config
        Of the mesh.
    length : int
        Positions of each text.
    texts : int
        How many go through in one run.
    valid : int, optional
        Positions that are tokens, in each text; the ones after them are padding.

    Raises
    ------
    CompileError
        When it does not fit into a core (with the memory, need, capacity and the nearest named
        configuration of a core that fits) or a parameter is outside its limit.
    """
    valid, what = check_text(model, config, length, valid), f"{name} at length {length}"
    if texts < 1:
        raise CompileError(f"a pipeline needs at least 1 text, not {texts}")
    plan = _plan(model, config.core, length, valid, what)
    image, cores = SharedImage(config), _path(config)[:len(model.layers)]
    followers = [*cores[1:], None]
    stages = [Stage(model, plan, config, image, *each) for each in
              zip(even(len(model.layers), len(cores)), cores, followers, strict=True)]
    commands = in_turn(stages, texts)
    image.check(what)
    streams = schedule_mesh(commands, config)
    verify_mesh(config, streams)
    program = MeshProgram(config, streams, {0: tuple(image.sections)}, name,
                          texts * count_macs(model, config, length, valid))
    return CompiledPipeline(program, model, cores, length, valid, stages[-1].outputs,
                            stages[0].weights.words.offset)


def _plan(model: QuantizedEncoder, core: Config, length: int, valid: int,
          what: str) -> EncoderPlan:
    def plan(config: Config) -> EncoderPlan:
        return plan_encoder(model, config, length, valid, what, texts=RESIDUALS)

    try:
        return plan(core)
    except CapacityError as error:
        raise with_advice(error, plan) from None


def _path(config: Config) -> list[int]:
    """All cores, row by row and back again, so that each is beside the next."""
    width = config.mesh_width
    return [row * width + (column if row % 2 == 0 else width - 1 - column)
            for row in range(config.mesh_height) for column in range(width)]
