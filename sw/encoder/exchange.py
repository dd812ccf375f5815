"""What a core tells the others about its positions of a text."""
from collections.abc import Iterator

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command
from systolith.sw.compiler.gather import MEET, Gather
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.reference.encoder import QuantizedEncoder


class Exchange:
    """Sends of one core: keys and values to all others, pooled rows to the first. Nothing on a chip
    with one core.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    config : Config
    number : int
        Of the core.
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, config: Config, number: int):
        self._model, self._plan, self._config = model, plan, config
        self._mesh, self._word = Gather(config, number), config.word_bytes(Region.WGT)

    @property
    def leads(self) -> bool:
        """Whether this core gives the embedding."""
        return self._mesh.number == 0

    def keys_and_values(self) -> Iterator[Command]:
        """Keys and values of the core's positions, all heads."""
        if self._mesh.alone:
            return
        plan, cols = self._plan, self._config.cols
        tile = self._model.heads * plan.tiles.head_in * self._word
        yield MEET
        yield from self._mesh.send(
            Region.WGT, plan.keys.base * self._word + plan.first // cols * tile,
            ceil_div(plan.length, cols), tile, tile)
        yield from self._straight(plan.values.base, plan.tiles.value_stride, plan.length)
        yield MEET

    def pooled(self) -> Iterator[Command]:
        """The core's tokens for the mean, to the core that gives the embedding."""
        if self._mesh.alone:
            return
        plan = self._plan
        yield MEET
        if plan.tokens:
            yield from self._straight(plan.pool.base, plan.tiles.width_out, plan.tokens, target=0)
        yield MEET

    def _straight(self, base: int, tiles: int, rows: int, target: int | None = None
                  ) -> Iterator[Command]:
        """The core's first ``rows`` positions of ``tiles`` columns of tiles, ``key_tiles`` each."""
        plan, height = self._plan, self._config.rows
        yield from self._mesh.send(
            Region.WGT, (base + plan.first // height) * self._word, tiles,
            ceil_div(rows, height) * self._word, plan.key_tiles * self._word, target=target)
