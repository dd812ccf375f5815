"""Lowering of the end of an encoder: the mean of the rows that are tokens, over its length."""
from collections.abc import Iterator

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
)
from systolith.sw.compiler.fields import Span, accumulators, spans, tensor
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.residual import Residual
from systolith.sw.reference.encoder import UNIT_BITS, QuantizedEncoder
from systolith.sw.reference.numerics import scale_word


class Pooling:
    """Writes the end of a run.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    residual : Residual
    config : Config
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, residual: Residual,
                 config: Config):
        self.model, self.plan, self.residual, self.config = model, plan, residual, config

    def rows(self) -> Iterator[Command]:
        """The core's tokens as weights."""
        for block in spans(self.plan.tokens, self.plan.block):
            yield from self.block(block)

    def block(self, block: Span) -> Iterator[Command]:
        """Those of a block of positions that are tokens as weights."""
        plan, start, end = self.plan, block[0], min(block[1], self.plan.tokens)
        if start < end:
            position = plan.first + start
            yield Pass(**self.residual.source((start, end)), scale=Scale.COLUMN,
                       const_base=plan.pool_in.base, output=Output.INT8, sink=Sink.WGT_ROWS,
                       position=position, sink_base=plan.pool.base + position // self.config.rows,
                       sink_row_stride=1, sink_tile_stride=plan.key_tiles)

    def mean(self) -> Iterator[Command]:
        """Mean of all rows, over its length, in the first words of ``u``."""
        plan, tiles = self.plan, self.plan.tiles
        acc = self.residual.slot()
        yield Product(count0=ceil_div(plan.valid, self.config.rows), act0_stride=1, wgt0_stride=1,
                      count1=1, count2=tiles.width_out, wgt2_stride=plan.key_tiles, acc2_stride=1,
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
