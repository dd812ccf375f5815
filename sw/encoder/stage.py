"""One stage of a pipeline: what a core does with each text."""
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile, pairwise, takewhile
from typing import Protocol

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Load, Pass, Product
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.gather import Gather
from systolith.sw.compiler.image import Place
from systolith.sw.encoder.lowering import EncoderLowering
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.shared_image import SharedImage
from systolith.sw.encoder.stage_stream import StageStream
from systolith.sw.reference.encoder import QuantizedEncoder


@dataclass(frozen=True)
class _Parts:
    """What a stage does with a text: blocks of its embedding, loads that come early, the layers,
    and what hands on the result."""

    embedding: Sequence[Sequence[Command]] = ()
    ahead: Sequence[Command] = ()
    work: Sequence[Command] = ()
    result: Sequence[Command] = ()


#: After the last text.
_NOTHING = _Parts()


class Stage:
    """Writes the commands of a core that has some of the layers, text by text.

    The first stage makes the embedding of words and positions, the last one the unit vector. The
    residual goes from stage to stage at the same place, and texts in turn have two of them.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
        With residuals of two texts.
    config : Config
        Of the mesh.
    image : SharedImage
        Of all cores.
    layers : Span
        First layer, and the one after the last.
    core : int
        Number of the core.
    following : int or None
        The core that gets the residual; None for the last stage.
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, config: Config,
                 image: SharedImage, layers: Span, core: int, following: int | None):
        self.model, self.plan, self.layers, self.core = model, plan, layers, core
        self.weights = StageStream(model, plan, config.core, image, layers)
        #: Where the unit vector of each text is stored.
        self.outputs: list[Place] = []
        self._config, self._following = config, following
        self._mesh = Gather(config, core)

    def texts(self, count: int) -> list[list[tuple[int, Command]]]:
        """(core, command) of each of ``count`` texts.

        What a text needs first is loaded before the result of the text before it goes out: the
        queue of moves keeps its order, and the result comes last. Its embedding, which keeps the
        vector unit busy and the array not, is made while the array works on the text before it.

        A stage loads its first weights when the one before it has its own: external memory serves
        all cores in turn, and the first stage is the only one that has something to do with them.
        """
        start = [*self.weights.resident()]
        parts = [self._text(number) for number in range(count)]
        powers = EncoderLowering(self.model, self.plan, self.weights, self._config.core).powers()
        before = [*start, powers, *chain.from_iterable(parts[0].embedding), *parts[0].ahead,
                  *self._let_load()]
        result = []
        for part, following in zip(parts, [*parts[1:], _NOTHING], strict=True):
            work = among(part.work, following.embedding)
            result.append([(self.core, command) for command in (
                *before, *work, *following.ahead, *part.result)])
            before = []
        return result

    def _text(self, number: int) -> _Parts:
        plan = self.plan.text(number)
        lowering = EncoderLowering(self.model, plan, self.weights, self._config.core)
        embedding: list[list[Command]] = []
        ahead: list[Command] = []
        if self.layers[0] == 0:
            embedding = _blocks([*self.weights.tokens(plan.x), *lowering.embedding()],
                                len(lowering.residual.blocks))
        else:
            ahead += self.weights.fetch_norm(2 * self.layers[0])
        work = [*chain.from_iterable(part for index in range(*self.layers)
                                     for _, part in lowering.layer(index))]
        ahead += takewhile(_is_load, work)
        work = [*dropwhile(_is_load, work)]
        if self._following is not None:
            return _Parts(embedding, ahead, work,
                          [*self._hand_on(plan, lowering.residual.blocks)])
        self.outputs.append(self.weights.next_output())
        pool = [*lowering.pool()]
        return _Parts(embedding, ahead, [*work, *pool[:-1]], pool[-1:])

    def _let_load(self) -> Iterator[Command]:
        """A word of the table of powers to the next stage, which loads that table first of all but
        the identity, over this word, so it waits for it."""
        if self._following is not None:
            yield from self._mesh.rows(Region.VEC, self.plan.table.base, 1, (0, 1), 1,
                                       target=self._following)

    def _hand_on(self, plan: EncoderPlan, blocks: Sequence[Span]) -> Iterator[Command]:
        """The residual to the core of the next stage, which begins with the first block while the
        last ones are in work here."""
        beats = plan.tiles.width_beats
        for block in blocks:
            yield from self._mesh.rows(Region.VEC, plan.x.base, beats, block, beats,
                                       target=self._following)


def among(work: Sequence[Command], guests: Sequence[Sequence[Command]]) -> Iterator[Command]:
    """Work with guests among its last products, one before every second product."""
    products = [place for place, each in enumerate(work) if isinstance(each, Product)]
    at = dict(zip(products[len(products) - 2 * len(guests)::2], guests, strict=True))
    for place, command in enumerate(work):
        yield from at.get(place, ())
        yield command


def _blocks(embedding: Sequence[Command], count: int) -> list[list[Command]]:
    """An embedding block by block: each ends with the last pass of a norm."""
    passes = [place for place, each in enumerate(embedding) if isinstance(each, Pass)]
    ends = [0, *(passes[len(passes) * block // count - 1] + 1 for block in range(1, count + 1))]
    return [[*embedding[first:last]] for first, last in pairwise(ends)]


def _is_load(command: Command) -> bool:
    return isinstance(command, Load)


class Texts(Protocol):
    """A stage as :func:`in_turn` sees it."""

    def texts(self, count: int) -> Iterable[Sequence[tuple[int, Command]]]:
        """(core, command) of each of ``count`` texts."""
        ...


def in_turn(stages: Sequence[Texts], texts: int) -> list[tuple[int, Command]]:
    """The commands of all stages as one list of (core, command), in an order in which they could
    run one by one: in each step every stage has another text, the one after the stage before it.
    """
    parts = [[*stage.texts(texts)] for stage in stages]
    return [command for step in range(len(stages) + texts - 1)
            for place, part in enumerate(parts)
            if 0 <= step - place < texts for command in part[step - place]]
