"""Lowering of an encoder: commands in an order in which they could run one by one.

The order decides what runs side by side: each engine keeps it, and the scheduler lets go of the
rest. So what waits for another engine comes after what does not.
"""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Command, Table
from systolith.sw.compiler.softmax import EXP2_TABLE
from systolith.sw.encoder.attention import AttentionLowering
from systolith.sw.encoder.embedding import EmbeddingLowering
from systolith.sw.encoder.feed_forward import FeedForwardLowering
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.pooling import Pooling
from systolith.sw.encoder.projections import ProjectionLowering
from systolith.sw.encoder.residual import Residual
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import QuantizedEncoder


class EncoderLowering:
    """Writes the commands of a run.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    weights : WeightStream
        Brings weights into the core just before they are used.
    config : Config
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, weights: WeightStream,
                 config: Config):
        self.model, self.plan, self.weights, self.config = model, plan, weights, config
        self.residual, self.tiles = Residual(model, plan, config), plan.tiles
        self.projections = ProjectionLowering(model, plan, self.residual, config)

    def parts(self) -> dict[str, list[Command]]:
        """The whole run, part by part."""
        result = {"embedding": [*self.weights.start(), self.powers(), *self.embedding()]}
        for index in range(len(self.model.layers)):
            result |= {f"layer {index} {name}": list(part) for name, part in self.layer(index)}
        result["pool"] = list(self.pool())
        return result

    def powers(self) -> Command:
        """The function table of softmax, which stays."""
        return Table(table=EXP2_TABLE, source_base=self.plan.table.base)

    def embedding(self) -> Iterator[Command]:
        """Words that lie in ``x`` already, plus positions."""
        yield from self.weights.fetch_norm(0)
        embedding = EmbeddingLowering(self.model, self.plan, self.residual)
        for number, block in enumerate(self.residual.blocks):
            base = embedding.base(number)
            yield from self.weights.positions(block, base)
            yield from embedding.block(block, base)
            yield from self.residual.norm(block, self.weights.norm(0))

    def layer(self, index: int) -> Iterator[tuple[str, Iterator[Command]]]:
        """One layer, from the normalized residual to that of the next: its parts by name, to be
        taken one after the other."""
        layer, norm = self.model.layers[index], self.weights.norm
        feed_forward = FeedForwardLowering(self.plan, self.weights, self.residual, self.config)
        attention = AttentionLowering(self.model, layer, self.plan, self.config)
        yield "projections", self._inputs(index, norm(2 * index))
        yield "attention", attention.commands()
        yield "output", self._output(index, norm(2 * index + 1))
        yield "feed-forward", feed_forward.commands(index, layer, norm(2 * index + 2))

    def _inputs(self, index: int, norm: int) -> Iterator[Command]:
        """Queries, keys and values; the rows of a block before the drains of the one before, but
        never more products undrained than the accumulators hold."""
        plan = self.plan
        for name in "qkv":
            yield from self.weights.fetch(f"{name}{index}")
        pending: list[Command] = []
        for number, block in enumerate(self.residual.blocks):
            rows = plan.h.base + number % 2 * plan.block * self.tiles.width_in
            yield from self.residual.smooth(block, norm, rows, plan.block)
            yield from pending
            pending = []
            for name in "qkv":
                if len(pending) == self.residual.slots:
                    yield pending.pop(0)
                product, drain = self.projections.projection(
                    name, self.weights.place(f"{name}{index}"), block, rows, plan.block)
                yield product
                pending.append(drain)
        yield from pending

    def _output(self, index: int, norm: int) -> Iterator[Command]:
        """The output product, the residual, the norm, and rows for the feed-forward network."""
        yield from self.weights.fetch(f"out{index}")
        yield from self.weights.fetch_norm(2 * index + 1)
        for block in self.residual.blocks:
            yield from self.projections.output(self.weights.place(f"out{index}"), block)
            yield from self.residual.norm(block, norm)
            yield from self.residual.smooth(block, norm, self.plan.q.base + block[0],
                                            self.plan.length)

    def pool(self) -> Iterator[Command]:
        """Rows that exist as weights, the embedding, and its store."""
        pooling = Pooling(self.model, self.plan, self.residual, self.config)
        yield from pooling.rows()
        yield from pooling.mean()
        yield from self.weights.finish()
