"""Lowering of a block of rows of the feed-forward network: one group up, GELU, and down."""
from collections.abc import Iterator
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.isa import (
    Combine,
    Command,
    Function,
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
from systolith.sw.compiler.fields import Fields, Span, accumulators, tensor
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.encoder.plan import GELU_TABLE, EncoderPlan, Slot
from systolith.sw.encoder.residual import Residual
from systolith.sw.reference.encoder import Group
from systolith.sw.reference.rows import MAGNITUDE_BITS, ROW_MAX, tensor_word


@dataclass(frozen=True, kw_only=True)
class HiddenRows:
    """Where hidden rows of a block are as INT8: first word in activation memory, words from row to
    row and from tile to tile; row constants of their reciprocals and of their scales."""

    base: int
    row_stride: int
    tile_stride: int
    inverse: int
    scale: int


class HiddenLowering:
    """Writes the products of one group and what is between.

    Parameters
    ----------
    plan : EncoderPlan
    residual : Residual
    config : Config
    """

    def __init__(self, plan: EncoderPlan, residual: Residual, config: Config):
        self.plan, self.residual, self.config, self.tiles = plan, residual, config, plan.tiles

    def table(self, place: Slot) -> Command:
        """The group's function table, which lies behind its biases."""
        return Table(table=GELU_TABLE, source_base=place.vectors.base + self.tiles.group_beats)

    def up(self, group: Group, place: Slot, block: Span, rows: int) -> Iterator[Command]:
        """Input of GELU, INT16 in ``u``; ``rows``: first word of the INT8 rows of the block."""
        acc, plan, tiles, (start, end) = self.residual.slot(), self.plan, self.tiles, block
        size = group.up.weight.shape[1]
        yield Product(
            count0=tiles.width_in, act0_stride=plan.length, wgt0_stride=1, count1=end - start,
            act1_stride=1, acc1_stride=tiles.group_stride, count2=ceil_div(size, self.config.cols),
            wgt2_stride=tiles.width_in, acc2_stride=1, act_base=rows, wgt_base=place.weight.base,
            acc_base=acc)
        yield Pass(**accumulators(acc, tiles.group_stride), **self._shape(size, block),
                   **self._sink(), scale=Scale.COLUMN, const_base=place.constants.base, row_scale=1,
                   row_read=plan.scale.base + start, combine=Combine.ADD,
                   stream_base=place.vectors.base)

    def gelu(self, group: Group, block: Span, hidden: HiddenRows) -> Iterator[Pass]:
        """GELU of ``u`` in place, then INT8 rows, and last their scales."""
        source = {"source": Source.VEC, "source_base": self.plan.u.base,
                  "source_row_stride": self.tiles.group_beats, "source_tile_stride": 1,
                  **self._shape(group.up.weight.shape[1], block)}
        yield Pass(**source, **self._sink(), function=Function.LINEAR, table=GELU_TABLE,
                   combine=Combine.SELF, reduce=Reduce.ABSMAX, scalar=Scalar.RECIPROCAL,
                   row_write=hidden.inverse)
        yield Pass(**source, **tensor(tensor_word(ROW_MAX)), row_scale=1, row_read=hidden.inverse,
                   output=Output.INT8, sink=Sink.ACT, sink_base=hidden.base,
                   sink_row_stride=hidden.row_stride, sink_tile_stride=hidden.tile_stride)
        yield Pass(**source, **tensor(tensor_word(1 << MAGNITUDE_BITS)), reduce=Reduce.ABSMAX,
                   scalar=Scalar.SCALE, row_write=hidden.scale)

    def down(self, group: Group, place: Slot, block: Span, hidden: HiddenRows,
             columns: Span | None = None) -> Iterator[Command]:
        """Hidden rows to ``columns`` of the residual, all for None."""
        acc = self.residual.slot()
        words = ceil_div(group.down.weight.shape[0], self.config.rows)
        stride = self.residual.stride(columns)
        yield Product(
            count0=words, act0_stride=hidden.tile_stride, wgt0_stride=1,
            count1=block[1] - block[0], act1_stride=hidden.row_stride, acc1_stride=stride,
            count2=ceil_div(group.down.weight.shape[1], self.config.cols), wgt2_stride=words,
            acc2_stride=1, act_base=hidden.base, wgt_base=place.weight.base, acc_base=acc)
        yield Pass(**accumulators(acc, stride), **self.residual.added(block, columns),
                   scale=Scale.COLUMN, const_base=place.constants.base, row_scale=1,
                   row_read=hidden.scale)

    def _shape(self, size: int, block: Span) -> Fields:
        return {"rows": block[1] - block[0], "beats": self.tiles.group_beats, "valid": size}

    def _sink(self) -> Fields:
        return {"output": Output.INT16, "sink": Sink.VEC, "sink_base": self.plan.u.base,
                "sink_row_stride": self.tiles.group_beats, "sink_tile_stride": 1}
