"""A compiled decoder: its image once, and a program for every shape of a run."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine
from systolith.sw.compiler.allocate import CapacityError
from systolith.sw.compiler.parts import PARTS, count_commands
from systolith.sw.compiler.schedule import schedule
from systolith.sw.compiler.tokens import with_tokens
from systolith.sw.compiler.verifier import verify
from systolith.sw.compiler.zero_tiles import useful_elements
from systolith.sw.decoder.choose import Choice
from systolith.sw.decoder.core import DecoderCore
from systolith.sw.decoder.plan import Scratch, Tiles, place_scratch
from systolith.sw.decoder.share import whole_share
from systolith.sw.decoder.work import Work, work_by_layer
from systolith.sw.reference.quantized_decoder import QuantizedDecoder
from systolith.sw.runtime.mesh_program import MeshProgram
from systolith.sw.runtime.program import Program, Section

#: Most positions of one run; longer prompts take several.
MOST_ROWS = 64


@dataclass(frozen=True)
class Shape:
    """A run: ``length`` new positions after ``position``; logits of the last one, or of all."""

    length: int
    position: int
    all_logits: bool = False


@dataclass(frozen=True)
class Run:
    """A program of a shape. Its first ``length`` moves fetch the tokens' rows. ``work`` is what
    each part of the model needs of the engines of the first core, which has the largest share."""

    program: Program | MeshProgram
    shape: Shape
    scratch: Scratch
    work: tuple[Work, ...]


class CompiledDecoder:
    """A decoder in integers, laid out on a configuration.

    Parameters
    ----------
    name : str
        For messages and reports.
    model : QuantizedDecoder
    config : Config
    context : int
        Positions that the cache holds.
    choices : tuple of Choice
        The forms of the model that were tried before it was quantized.

    Raises
    ------
    CompileError
        When it does not fit, or the configuration has no external memory or only one table.
    """

    def __init__(self, name: str, model: QuantizedDecoder, config: Config, context: int,
                 choices: tuple[Choice, ...] = ()):
        self.choices = choices
        self.name, self.model, self.config, self.context = name, model, config, context
        what = f"{name} with {context} positions"
        self.cores = self._lay_out(what)
        first, last = self.cores[0], self.cores[-1]
        self.residents, self.external = first.residents, first.image.external
        self.tiles = Tiles.of(first.model, config)
        self.most_rows = self._most_rows(what)
        last.image.check(what)
        self._useful = _useful_weights(model, config)
        self.setup = self._program([core.setup for core in self.cores], macs=0,
                                   sections=[core.image.image.sections for core in self.cores])
        self._runs: dict[Shape, Run] = {}

    def _lay_out(self, what: str) -> list[DecoderCore]:
        """The only core."""
        return [DecoderCore(self.model, whole_share(self.model), self.config, self.context, what)]

    def _program(self, cores: Sequence[Sequence[Command]], *, macs: int,
                 sections: Sequence[Sequence[Section]] = ((),),
                 notes: Mapping[str, object] | None = None) -> Program | MeshProgram:
        """A verified program from the commands of each core."""
        streams = schedule(cores[0], self.config)
        verify(self.config, streams)
        return Program(self.config, streams, tuple(sections[0]), self.name, macs, notes or {})

    def _most_rows(self, what: str) -> int:
        """The longest run that the memories hold."""
        rows = min(MOST_ROWS, self.context)
        while rows > 1:
            try:
                self._scratch(rows, what)
            except CapacityError:
                rows -= 1
            else:
                return rows
        self._scratch(1, what)
        return 1

    def _scratch(self, length: int, what: str = "") -> Scratch:
        return place_scratch(self.cores[0].model, self.config, length, self.context,
                             self.residents.streamed, what)

    def run(self, shape: Shape) -> Run:
        """The program of a shape, verified; compiled at its first use."""
        if shape not in self._runs:
            self._runs[shape] = self._compile(shape)
        return self._runs[shape]

    def commands(self, run: Run, ids: Sequence[int]) -> dict[Engine, list[Command]]:
        """The run's commands with the addresses of the tokens' rows."""
        assert isinstance(run.program, Program)
        return with_tokens(run.program.commands, ids)

    def _compile(self, shape: Shape) -> Run:
        scratch = self._scratch(shape.length)
        parts = [core.parts(shape.position, scratch, all_logits=shape.all_logits)
                 for core in self.cores]
        program = self._program(
            [[command for part in each.values() for command in part] for each in parts],
            macs=self.macs(shape), notes={PARTS: count_commands(parts[0])})
        return Run(program, shape, scratch, work_by_layer(parts[0], self.config))

    def macs(self, shape: Shape) -> int:
        """Useful multiply-accumulates of a run: no padding, no weight tiles of zeros, and only the
        scores needed."""
        m, t, (layers, head) = self.model, shape.length, self._useful
        scores = t * shape.position + t * (t + 1) // 2
        attention = 2 * len(m.layers) * m.heads * m.head_dim * scores
        return t * layers + attention + head * (t if shape.all_logits else 1)


def _useful_weights(model: QuantizedDecoder, config: Config) -> tuple[int, int]:
    """Weights of all layers, and of the head, in tiles that are not all zero."""
    hd, layers = model.head_dim, 0
    for layer in model.layers:
        layers += sum(useful_elements(each.weight, config, columns=hd)
                      for each in (layer.q, layer.k, layer.v))
        layers += useful_elements(layer.out.weight, config, rows=hd)
        layers += sum(useful_elements(each.weight, config)
                      for each in (layer.gate, layer.up, layer.down))
    return layers, useful_elements(model.head.weight, config)
