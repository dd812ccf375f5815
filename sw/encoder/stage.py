"""One stage of a pipeline: what a core does with each text."""
from collections.abc import Iterator, Sequence
from itertools import chain, dropwhile, takewhile

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Load
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.gather import Gather
from systolith.sw.compiler.image import Place
from systolith.sw.encoder.lowering import EncoderLowering
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.shared_stream import SharedImage
from systolith.sw.encoder.stage_stream import StageStream
from systolith.sw.reference.encoder import QuantizedEncoder


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

    def texts(self, count: int) -> list[list[Command]]:
        """The commands for each of ``count`` texts.

        What a text needs first is loaded before the result of the text before it goes out: the
        queue of moves keeps its order, and the result comes last.
        """
        parts = [self._text(number) for number in range(count)]
        ahead = [first for first, _, _ in parts[1:]] + [[]]
        start, (first, body, last) = [*self.weights.resident()], parts[0]
        powers = EncoderLowering(self.model, self.plan, self.weights, self._config.core).powers()
        parts[0] = [], [*start, powers, *first, *body], last
        return [[*body, *following, *last]
                for (_, body, last), following in zip(parts, ahead, strict=True)]

    def _text(self, number: int) -> tuple[list[Command], list[Command], list[Command]]:
        """Loads that come early, work, and what hands on the result."""
        plan = self.plan.text(number)
        lowering = EncoderLowering(self.model, plan, self.weights, self._config.core)
        first: list[Command] = []
        body: list[Command] = []
        if self.layers[0] == 0:
            first += self.weights.tokens(plan.x)
            body += lowering.embedding()
        else:
            first += self.weights.fetch_norm(2 * self.layers[0])
        work = [*chain.from_iterable(part for index in range(*self.layers)
                                     for _, part in lowering.layer(index))]
        first += takewhile(_is_load, work)
        body += dropwhile(_is_load, work)
        if self._following is not None:
            return first, body, [*self._hand_on(plan)]
        self.outputs.append(self.weights.next_output())
        pool = [*lowering.pool()]
        return first, [*body, *pool[:-1]], pool[-1:]

    def _hand_on(self, plan: EncoderPlan) -> Iterator[Command]:
        """The residual to the core of the next stage."""
        word = self._config.word_bytes(Region.VEC)
        row = plan.tiles.width_beats * word
        yield from self._mesh.send(Region.VEC, plan.x.base * word, plan.length, row, row,
                                   target=self._following)


def _is_load(command: Command) -> bool:
    return isinstance(command, Load)


def in_turn(stages: Sequence[Stage], texts: int) -> list[tuple[int, Command]]:
    """The commands of all stages as one list of (core, command), in an order in which they could
    run one by one: in each step every stage has another text, the one after the stage before it.
    """
    parts = [stage.texts(texts) for stage in stages]
    return [(stage.core, command) for step in range(len(stages) + texts - 1)
            for place, (stage, part) in enumerate(zip(stages, parts, strict=True))
            if 0 <= step - place < texts for command in part[step - place]]
