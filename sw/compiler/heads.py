"""Lowering of the heads of an attention layer: scores, softmax, mixed values."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import (
    Addend,
    Command,
    Function,
    Output,
    Pass,
    Product,
    Reduce,
    Scalar,
    Scale,
    Sink,
    Table,
)
from systolith.sw.compiler.fields import (
    Fields,
    Span,
    accumulator_slot,
    accumulators,
    query_sink,
    shifted,
    spans,
)
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.plan import Plan
from systolith.sw.reference.attention import QuantizedAttention
from systolith.sw.reference.numerics import split_scale


class HeadLowering:
    """Writes the commands of all heads of one layer.

    Softmax passes of one block of rows run while the array multiplies the next: the blocks of all
    heads form one sequence, and the product of P and V comes ``plan.depth`` blocks after the
    scores. Blocks alternate between the halves of the accumulators, so the array and the vector
    unit rarely meet in one half.

    Parameters
    ----------
    layer : QuantizedAttention
        Supplies the scale words of scores and mixed values.
    plan : Plan
        Supplies all places.
    config : Config
    """

    def __init__(self, layer: QuantizedAttention, plan: Plan, config: Config):
        self.layer = layer
        self.plan = plan
        self.config = config

    def commands(self) -> Iterator[Command]:
        """Scores, softmax and mixed values of every block of every head."""
        yield Table(source_base=self.plan.table.base)
        blocks = [(head, span) for head in range(self.layer.heads)
                  for span in spans(self.plan.shape.length, self.plan.block_rows)]
        for step in range(len(blocks) + self.plan.depth):
            mixed = step - self.plan.depth
            if mixed >= 0:
                yield self._mix_product(mixed, *blocks[mixed])
            if step < len(blocks):
                yield self._score_product(step, *blocks[step])
            if mixed >= 0:
                yield self._mix_pass(mixed, *blocks[mixed])
            if step < len(blocks):
                yield self._maximum_pass(step, *blocks[step])
                yield self._power_pass(step, *blocks[step])

    def _score_slot(self, step: int) -> int:
        plan = self.plan
        words = plan.block_rows * (plan.score_stride + plan.head_stride)
        return accumulator_slot(step, words, plan.depth // 2, self.config)

    def _mix_slot(self, step: int) -> int:
        return self._score_slot(step) + self.plan.block_rows * self.plan.score_stride

    def _query(self, head: int, start: int) -> int:
        """First word of a head's queries from a row on; tiles are T words apart."""
        length = self.plan.shape.length
        return self.plan.q.base + head * self.plan.tiles.head_in * length + start

    def _score_product(self, step: int, head: int, span: Span) -> Command:
        plan, tiles = self.plan, self.plan.tiles
        start, end = span
        return Product(
            count0=tiles.head_in, act0_stride=plan.shape.length, wgt0_stride=1,
            count1=end - start, act1_stride=1, acc1_stride=plan.score_stride,
            count2=ceil_div(plan.shape.keys(end), self.config.cols), wgt2_stride=tiles.head_in,
            acc2_stride=1, act_base=self._query(head, start),
            wgt_base=plan.k[head // self.layer.group].base, acc_base=self._score_slot(step))

    def _scores(self, step: int, span: Span) -> Fields:
        """The scores of a block as the source of a pass, masked."""
        start, end = span
        return {**accumulators(self._score_slot(step), self.plan.score_stride),
                "rows": end - start, "valid": self.plan.shape.keys(end), "position": start,
                "causal": int(self.plan.shape.causal)}

    def _maximum_pass(self, step: int, _head: int, span: Span) -> Command:
        return Pass(
            **self._scores(step, span),
            beats=ceil_div(self.plan.shape.keys(span[1]), self.config.lanes), reduce=Reduce.MAX,
            row_write=self.plan.maxima[step % self.plan.depth].base)

    def _power_pass(self, step: int, head: int, span: Span) -> Command:
        """Powers of two, their sum's reciprocal, and UINT8 probabilities in whole words."""
        plan, words = self.plan, self._key_tiles(span)
        multiplier, shift = split_scale(self.layer.score_words[head])
        return Pass(
            **self._scores(step, span), beats=words * self.config.rows // self.config.lanes,
            addend=Addend.ROW, row_read=plan.maxima[step % plan.depth].base,
            scale=Scale.TENSOR, multiplier=int(multiplier), shift=int(shift),
            function=Function.EXP2, reduce=Reduce.SUM, scalar=Scalar.RECIPROCAL,
            row_write=plan.sums[step % plan.depth].base, narrow=1, output=Output.UINT8,
            sink=Sink.ACT, sink_base=plan.p[step % plan.depth].base, sink_row_stride=words,
            sink_tile_stride=1)

    def _key_tiles(self, span: Span) -> int:
        return ceil_div(self.plan.shape.keys(span[1]), self.config.rows)

    def _mix_product(self, step: int, head: int, span: Span) -> Command:
        plan, words = self.plan, self._key_tiles(span)
        return Product(
            left_unsigned=1, count0=words, act0_stride=1, wgt0_stride=1,
            count1=span[1] - span[0], act1_stride=words, acc1_stride=plan.head_stride,
            count2=plan.tiles.head_out, acc2_stride=1,
            wgt2_stride=ceil_div(plan.shape.length, self.config.rows),
            act_base=plan.p[step % plan.depth].base, wgt_base=plan.v[head // self.layer.group].base,
            acc_base=self._mix_slot(step))

    def _mix_pass(self, step: int, head: int, span: Span) -> Command:
        """Mixed values over the rows' sums, over the block's queries."""
        multiplier, shift = split_scale(self.layer.mix_words[head])
        return Pass(
            **accumulators(self._mix_slot(step), self.plan.head_stride),
            **shifted(query_sink(self.plan, head), span[0], self.config),
            rows=span[1] - span[0], valid=self.layer.head_dim, scale=Scale.TENSOR,
            multiplier=int(multiplier), shift=int(shift), row_scale=1,
            row_read=self.plan.sums[step % self.plan.depth].base, output=Output.INT8)
