"""Lowering of a core's share of an encoder: commands in an order in which they could run one by
one, with a meeting of all cores behind everything that is sent.

The blocks of the core's positions follow each other through a layer, so that the exchange of one is
behind the products of the others. A core's array, vector unit and mover each keep this order: what
waits for other cores stands as late as it can.
"""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Command, Product, Table
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.gather import MEET
from systolith.sw.compiler.softmax import EXP2_TABLE
from systolith.sw.compiler.stationary import paired
from systolith.sw.encoder.embedding import EmbeddingLowering
from systolith.sw.encoder.mesh.attention import MeshAttention
from systolith.sw.encoder.mesh.exchange import MeshExchange
from systolith.sw.encoder.mesh.feed_forward import MeshFeedForward
from systolith.sw.encoder.mesh.plan import MeshPlan
from systolith.sw.encoder.mesh.stream import MeshStream
from systolith.sw.encoder.pooling import Pooling
from systolith.sw.encoder.projections import ProjectionLowering
from systolith.sw.encoder.residual import Residual
from systolith.sw.reference.encoder import QuantizedEncoder

#: Blocks that are embedded before the first is normalized.
AHEAD = 2

#: Products that the accumulators hold where a block's keys and values are drained after the next
#: block is embedded.
LEAST_SLOTS = 4

#: Blocks whose norm before the feed-forward network stands behind the first blocks' hidden rows,
#: which are sooner wanted.
LATE = 2

#: Blocks of a layer's keys and values that stand before the last block of the layer before, whose
#: hidden rows are on their way then.
EARLY = 2


class MeshLowering:
    """Writes the commands of a run of one core.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : MeshPlan
    weights : MeshStream
    config : Config
    blocks : int
        Blocks of the core that has most of them.
    """

    def __init__(self, model: QuantizedEncoder, plan: MeshPlan, weights: MeshStream,
                 config: Config, blocks: int):
        self.model, self.plan, self.weights, self.config = model, plan, weights, config
        self.share, self.tiles = plan.share, plan.tiles
        self.residual = Residual(model, plan, config)
        self.exchange = MeshExchange(plan, self.residual, config)
        self.pooling = Pooling(model, plan, self.residual, config)
        own = self.residual.blocks
        #: Blocks of rows; cores that have fewer have empty ones.
        self.blocks: list[Span] = own + [(plan.length, plan.length)] * (blocks - len(own))
        self._early, self._lets_load = 0, False

    def commands(self) -> Iterator[Command]:
        """The whole run."""
        yield from self.resident()
        yield from self.text(lets_load=True)

    def resident(self) -> Iterator[Command]:
        """What stays in the core for all texts."""
        yield from self.weights.start()
        yield Table(table=EXP2_TABLE, source_base=self.plan.table.base)

    def text(self, *, lets_load: bool) -> Iterator[Command]:
        """A text, from its words, or the residual that a team before this one sent, to the end or
        what the next team gets. ``lets_load``: that one may load when this one has its first
        weights."""
        self._lets_load = lets_load
        if self.share.layers[0] == 0:
            for number in range(AHEAD):
                yield from self._embedded(number)
        for index in range(*self.share.layers):
            yield from self._keys_and_values(index)
            yield from self._queries(index)
            attention = MeshAttention(self.model, self.plan, self.exchange, self.config, index)
            yield from attention.commands(self.blocks, self._output_block(index, self.blocks[0]))
            if self._last(index) and self.share.place == 0:
                yield from self.weights.pooling()
            yield from self._output(index, started=attention.output_done)
            yield from self._feed_forward(index)
        if self._last(self.share.layers[1] - 1):
            yield from self._pool()

    def _last(self, index: int) -> bool:
        """Whether a layer is the last one of the model."""
        return index + 1 == len(self.model.layers)

    def _embedded(self, number: int) -> Iterator[Command]:
        """The rows of a block that the core embeds, to its row of cores."""
        if number >= len(self.blocks):
            return
        block = self.share.embedded(self.blocks[number])
        if block[0] < block[1]:
            embedding = EmbeddingLowering(self.model, self.plan, self.residual)
            base = embedding.base(number)
            yield from self.weights.embedded(block, base, self.plan.x)
            yield from embedding.block(block, base)
            yield from self.exchange.rows(block)
        yield MEET

    def _normalized(self, block: Span, number: int, *, last: bool = False,
                    smooth: bool = True) -> Iterator[Command]:
        """A norm of a block of rows, then the block as INT8 (``smooth``), or behind the ``last``
        layer of the model its tokens for the mean."""
        if block[0] == block[1]:
            return
        yield from self.weights.need(f"norm{number}")
        norm = self.weights.norm(number)
        yield from self.residual.norm(block, norm)
        if smooth:
            yield from self.residual.smooth(block, norm, self._rows(block), self.plan.length)
        elif last and self.share.place == 0:
            yield from self.pooling.block(block)

    def _received(self, block: Span, number: int) -> Iterator[Command]:
        """A block of rows that came normalized, as INT8."""
        if block[0] < block[1]:
            yield from self.weights.need(f"norm{number}")
            yield from self.residual.smooth(block, self.weights.norm(number), self._rows(block),
                                            self.plan.length)

    def _finished(self, block: Span, index: int) -> Iterator[Command]:
        """A block behind a layer: for the next one, for the mean, or for the next team."""
        last, ends = self._last(index), index + 1 == self.share.layers[1]
        yield from self._normalized(block, 2 * index + 2, last=last, smooth=not ends)
        if ends:
            yield from self.exchange.hand_on(block)

    def _rows(self, block: Span) -> int:
        """First word of a block's INT8 rows."""
        return self.plan.h.base + block[0]

    def _projected(self, kinds: str, index: int, block: Span
                   ) -> tuple[list[Command], list[Command]]:
        """Products and drains of a block."""
        if not self.tiles.heads or block[0] == block[1]:
            return [], []
        lowering = ProjectionLowering(self.model, self.plan.layer(index), self.residual,
                                      self.config)
        pairs = [lowering.projection(kind, self.weights.place(f"{kind}{index}"), block,
                                     self._rows(block), self.plan.length) for kind in kinds]
        return [product for product, _ in pairs], [drain for _, drain in pairs]

    def _parts(self, kinds: str, index: int) -> list[str]:
        return [f"{kind}{index}" for kind in kinds] if self.tiles.heads else []

    def _keys_and_values(self, index: int) -> Iterator[Command]:
        """Keys and values of the blocks that are left, to the column of cores."""
        pending: list[Command] = []
        first = index == self.share.layers[0]
        for number, block in enumerate(self.blocks[self._early:]):
            if index == 0:
                yield from self._normalized(block, 0)
                yield from self._embedded(number + AHEAD)
            elif first:
                yield from self._received(block, 2 * index)
            yield from self.weights.need(*self._parts("kv", index))
            if self._lets_load:
                self._lets_load = False
                yield from self.exchange.let_load()
            yield from pending
            products, pending = self._projected("kv", index, block)
            yield from products
            yield from self._ahead(products)
            if self.residual.slots < LEAST_SLOTS:
                yield from pending
                pending = []
        yield from pending
        self.weights.done(*([f"norm{2 * index}"] if first else []), *self._parts("kv", index))
        yield from self.exchange.keys_and_values(self.plan.layer(index))
        yield MEET

    def _queries(self, index: int) -> Iterator[Command]:
        yield from self.weights.need(*self._parts("q", index))
        for block in self.blocks:
            products, drains = self._projected("q", index, block)
            yield from products
            yield from drains
            yield from self._ahead(products)
        self.weights.done(*self._parts("q", index))
        yield from self.weights.need(f"out{index}", f"norm{2 * index + 1}")

    def _ahead(self, commands: list[Command]) -> Iterator[Command]:
        """Loads beside these commands."""
        yield from self.weights.ahead(sum(
            each.count0 * each.count1 * each.count2 for each in commands
            if isinstance(each, Product)))

    def _output_block(self, index: int, block: Span) -> list[Command]:
        """Output product of a block, then its drain. It stays in pairs of rows, so that the drains
        and the last mixed values pass the array."""
        if block[0] == block[1] or self.share.columns[0] == self.share.columns[1]:
            return []
        lowering = ProjectionLowering(self.model, self.plan, self.residual, self.config)
        commands = lowering.output(self.weights.place(f"out{index}"), block, self.share.columns)
        return [each for command in commands for each in paired(command)]

    def _output(self, index: int, *, started: bool) -> Iterator[Command]:
        """Output columns of each block, then its norm and INT8: while its columns are exchanged,
        the vector unit leaves them vector memory."""
        for number, block in enumerate(self.blocks):
            commands = [] if started and number == 0 else self._output_block(index, block)
            yield from commands
            yield from self.exchange.columns(block)
            yield from self._ahead(commands)
            if number + 1 == len(self.blocks):
                self.weights.done(f"out{index}")
            yield MEET
            if number < len(self.blocks) - self._late:
                yield from self._normalized(block, 2 * index + 1)

    @property
    def _late(self) -> int:
        return LATE if len(self.blocks) > LATE else 0

    def _feed_forward(self, index: int) -> Iterator[Command]:
        """Up of a block, norm of that two before, down of that before."""
        network = MeshFeedForward(self.model, self.plan, self.weights, self.residual,
                                  self.exchange, self.config, index)
        ends, count = index + 1 == self.share.layers[1], len(self.blocks)
        yield from network.fetch()
        early: list[Command] = []
        self._early = 0
        for step in range(count + 2):
            if step < count:
                commands = list(network.up(step, self.blocks[step]))
                yield from commands
                yield from self._ahead(commands)
                if step < self._late:
                    yield from self._normalized(self.blocks[step - self._late], 2 * index + 1)
            if step == self._late:
                self.weights.done(f"norm{2 * index + 1}")
            elif step == count and not ends:
                products, early = self._early_keys(index + 1)
                yield from products
            if step + 1 == count:
                network.up_done()
            yield MEET
            if step >= 2:
                yield from self._finished(self.blocks[step - 2], index)
            yield from early
            early = []
            if 1 <= step <= count:
                commands = list(network.down(step - 1, self.blocks[step - 1]))
                yield from commands
                yield from self.exchange.columns(self.blocks[step - 1])
                yield from self._ahead(commands)
            if step == count:
                network.down_done()
            yield MEET
        self.weights.done(f"norm{2 * index + 2}")

    def _early_keys(self, index: int) -> tuple[list[Command], list[Command]]:
        """Keys and values of the first blocks of a layer, where there is room for their weights:
        products with what they need, and drains."""
        count = max(0, min(EARLY, len(self.blocks) - 2, self.residual.slots // len("kv")))
        names = self._parts("kv", index)
        if not all(map(self.weights.ready, names)):
            return [], []
        commands, drains = list(self.weights.need(*names)), list[Command]()
        for block in self.blocks[:count]:
            products, more = self._projected("kv", index, block)
            commands += products
            drains += more
        self._early = count
        return commands, drains

    def _pool(self) -> Iterator[Command]:
        """In one core, the embedding and its store."""
        yield from self.exchange.pooled()
        yield MEET
        if self.share.leads:
            yield from self.pooling.mean()
            yield from self.weights.finish()
