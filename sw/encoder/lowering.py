"""Lowering of an encoder: commands in an order in which they could run one by one.

The order decides what runs side by side: each engine keeps it, and the scheduler lets go of the
rest. So what waits for another engine comes after what does not.
"""
from collections.abc import Iterator
from itertools import chain

from systolith.hw.config import Config
from systolith.hw.isa import (
    Combine,
    Command,
    Output,
    Pass,
    Product,
    Reduce,
    Scalar,
    Scale,
    Sink,
    Source,
    Table,
)
from systolith.sw.compiler.fields import Span, accumulators, spans, tensor
from systolith.sw.compiler.softmax import EXP2_TABLE
from systolith.sw.encoder.attention import AttentionLowering
from systolith.sw.encoder.exchange import Exchange
from systolith.sw.encoder.feed_forward import FeedForwardLowering
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.projections import ProjectionLowering
from systolith.sw.encoder.residual import Residual
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import UNIT_BITS, QuantizedEncoder
from systolith.sw.reference.numerics import scale_word


class EncoderLowering:
    """Writes the commands of a run.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    weights : WeightStream
        Brings weights into the core just before they are used.
    config : Config
    number : int
        Of the core; the first one gives the embedding.
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, weights: WeightStream,
                 config: Config, number: int = 0):
        self.model, self.plan, self.weights, self.config = model, plan, weights, config
        self.exchange = Exchange(model, plan, config, number)
        self.residual, self.tiles = Residual(model, plan, config), plan.tiles

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
        """Positions, as an exact product with the identity, plus words that lie in ``x`` already.
        """
        yield from self.weights.fetch_norm(0)
        for number, block in enumerate(self.residual.blocks):
            acc, base = self.residual.slot(), self._positions_base(number)
            yield from self.weights.positions(block, base)
            for part in range(self.tiles.unit_out):
                yield self._position_product(block, base, acc + part, part)
            yield Pass(**accumulators(acc, self.tiles.position_stride),
                       **self.residual.added(block), **tensor(self.model.position_word))
            yield from self.residual.norm(block, self.weights.norm(0))

    def _positions_base(self, number: int) -> int:
        """First word of the positions of a block in activation memory."""
        words = self.plan.block * 2 * self.tiles.units * self.tiles.unit_in
        return self.plan.positions.base + number % 2 * words

    def _position_product(self, block: Span, base: int, acc: int, part: int) -> Command:
        tiles = self.tiles
        words = 2 * tiles.unit_in
        return Product(
            count0=words, act0_stride=1, wgt0_stride=1, count1=block[1] - block[0],
            act1_stride=tiles.units * words, acc1_stride=tiles.position_stride,
            count2=tiles.units, act2_stride=words, acc2_stride=tiles.unit_out, act_base=base,
            wgt_base=self.plan.identity.base + part * words, acc_base=acc)

    def layer(self, index: int) -> Iterator[tuple[str, Iterator[Command]]]:
        """One layer, from the normalized residual to that of the next: its parts by name, to be
        taken one after the other."""
        layer, norm = self.model.layers[index], self.weights.norm
        parts = (self.model, self.plan, self.weights, self.residual, self.config)
        projections = ProjectionLowering(*parts)
        attention = AttentionLowering(self.model, layer, self.plan, self.config)
        feed_forward = FeedForwardLowering(*parts)
        yield "projections", chain(projections.inputs(index, norm(2 * index)),
                                   self.exchange.keys_and_values())
        yield "attention", attention.commands()
        yield "output", projections.output(index, norm(2 * index + 1))
        yield "feed-forward", feed_forward.commands(index, layer, norm(2 * index + 2))

    def pool(self) -> Iterator[Command]:
        """Rows that exist as weights, then in one core the embedding and its store."""
        plan, rows = self.plan, self.config.rows
        for start, end in spans(plan.tokens, plan.block):
            position = plan.first + start
            yield Pass(**self.residual.source((start, end)), scale=Scale.COLUMN,
                       const_base=plan.pool_in.base, output=Output.INT8, sink=Sink.WGT_ROWS,
                       position=position, sink_base=plan.pool.base + position // rows,
                       sink_row_stride=1, sink_tile_stride=plan.key_tiles)
        yield from self.exchange.pooled()
        if self.exchange.leads:
            yield from self._mean()
            yield from self.weights.finish()

    def _mean(self) -> Iterator[Command]:
        """Mean of the rows that exist, over its length, in the first words of ``u``."""
        plan, tiles, rows = self.plan, self.tiles, self.config.rows
        acc = self.residual.slot()
        yield Product(count0=-(-plan.valid // rows), act0_stride=1, wgt0_stride=1, count1=1,
                      count2=tiles.width_out, wgt2_stride=plan.key_tiles, acc2_stride=1,
                      act_base=plan.ones.base, wgt_base=plan.pool.base, acc_base=acc)
        shape = {"rows": 1, "beats": tiles.width_beats, "valid": self.model.width}
        sums = {**accumulators(acc, tiles.width_stride), **shape}
        mean = {"source": Source.VEC, "source_base": plan.u.base, "source_tile_stride": 1, **shape}
        sink = {"output": Output.INT16, "sink": Sink.VEC, "sink_base": plan.u.base,
                "sink_tile_stride": 1}
        yield Pass(**sums, reduce=Reduce.ABSMAX, scalar=Scalar.RECIPROCAL,
                   row_write=plan.inverse.base)
        yield Pass(**sums, **sink, scale=Scale.COLUMN, const_base=plan.pool_out.base, row_scale=1,
                   row_read=plan.inverse.base)
        yield Pass(**mean, combine=Combine.SQUARE, reduce=Reduce.SUM, scalar=Scalar.INVERSE_ROOT,
                   row_write=plan.root.base)
        yield Pass(**mean, **sink, **tensor(int(scale_word(1 << UNIT_BITS, 0))), row_scale=1,
                   row_read=plan.root.base)
