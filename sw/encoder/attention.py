"""Lowering of attention over all positions of a text."""
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
)
from systolith.sw.compiler.fields import Fields, Span, accumulator_slot, accumulators, spans
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.encoder.plan import EXP2_TABLE, EncoderPlan
from systolith.sw.reference.encoder import QuantizedEncoder, QuantizedEncoderLayer
from systolith.sw.reference.numerics import split_scale


class AttentionLowering:
    """Writes scores, softmax and mixed values of one layer.

    Softmax passes of one block of rows run while the array multiplies the next: the blocks of all
    heads form one sequence, and the product of P and V comes ``plan.depth`` blocks after the
    scores. Blocks alternate between the halves of the accumulators.

    Parameters
    ----------
    model : QuantizedEncoder
    layer : QuantizedEncoderLayer
        Supplies the scale words.
    plan : EncoderPlan
    config : Config
    """

    def __init__(self, model: QuantizedEncoder, layer: QuantizedEncoderLayer, plan: EncoderPlan,
                 config: Config):
        self.model, self.layer, self.plan, self.config = model, layer, plan, config
        self.words = ceil_div(plan.valid, config.rows)

    def commands(self) -> Iterator[Command]:
        """Scores, softmax and mixed values of every block of every head."""
        blocks = [(head, span) for head in range(self.model.heads)
                  for span in spans(self.plan.length, self.plan.block)]
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
        words = self.plan.block * (self.plan.score_stride + self.plan.mix_stride)
        return accumulator_slot(step, words, self.plan.depth // 2, self.config)

    def _mix_slot(self, step: int) -> int:
        return self._score_slot(step) + self.plan.block * self.plan.score_stride

    def _query(self, head: int, start: int) -> int:
        """First word of a head's queries from a row on; tiles are T words apart."""
        plan = self.plan
        return plan.q.base + head * plan.tiles.head_in * plan.length + start

    def _score_product(self, step: int, head: int, span: Span) -> Command:
        plan, tiles = self.plan, self.plan.tiles
        return Product(
            count0=tiles.head_in, act0_stride=plan.length, wgt0_stride=1,
            count1=span[1] - span[0], act1_stride=1, acc1_stride=plan.score_stride,
            count2=ceil_div(plan.valid, self.config.cols), acc2_stride=1,
            wgt2_stride=self.model.heads * tiles.head_in, act_base=self._query(head, span[0]),
            wgt_base=plan.keys.base + head * tiles.head_in, acc_base=self._score_slot(step))

    def _scores(self, step: int, span: Span) -> Fields:
        return {**accumulators(self._score_slot(step), self.plan.score_stride),
                "rows": span[1] - span[0], "valid": self.plan.valid}

    def _maximum_pass(self, step: int, _head: int, span: Span) -> Command:
        return Pass(**self._scores(step, span),
                    beats=ceil_div(self.plan.valid, self.config.lanes), reduce=Reduce.MAX,
                    row_write=self.plan.maxima[step % self.plan.depth].base)

    def _power_pass(self, step: int, head: int, span: Span) -> Command:
        """Powers of two, their sum's reciprocal, and UINT8 probabilities in whole words."""
        plan, index = self.plan, step % self.plan.depth
        multiplier, shift = split_scale(self.layer.score_words[head])
        return Pass(
            **self._scores(step, span), beats=self.words * self.config.rows // self.config.lanes,
            addend=Addend.ROW, row_read=plan.maxima[index].base, scale=Scale.TENSOR,
            multiplier=int(multiplier), shift=int(shift), function=Function.EXP2,
            table=EXP2_TABLE, reduce=Reduce.SUM, scalar=Scalar.RECIPROCAL,
            row_write=plan.sums[index].base, narrow=1, output=Output.UINT8, sink=Sink.ACT,
            sink_base=plan.p[index].base, sink_row_stride=self.words, sink_tile_stride=1)

    def _mix_product(self, step: int, head: int, span: Span) -> Command:
        plan = self.plan
        return Product(
            left_unsigned=1, count0=self.words, act0_stride=1, wgt0_stride=1,
            count1=span[1] - span[0], act1_stride=self.words, acc1_stride=plan.mix_stride,
            count2=plan.tiles.head_out, acc2_stride=1, wgt2_stride=plan.key_tiles,
            act_base=plan.p[step % plan.depth].base, acc_base=self._mix_slot(step),
            wgt_base=plan.values.base + head * plan.tiles.head_out * plan.key_tiles)

    def _mix_pass(self, step: int, head: int, span: Span) -> Command:
        """Mixed values over the rows' sums, over the block's queries."""
        plan = self.plan
        multiplier, shift = split_scale(self.layer.mix_words[head])
        return Pass(
            **accumulators(self._mix_slot(step), plan.mix_stride), rows=span[1] - span[0],
            beats=plan.tiles.head_in * self.config.rows // self.config.lanes,
            valid=self.model.head_dim, scale=Scale.TENSOR, multiplier=int(multiplier),
            shift=int(shift), row_scale=1, row_read=plan.sums[step % plan.depth].base,
            output=Output.INT8, sink=Sink.ACT, sink_base=self._query(head, span[0]),
            sink_row_stride=1, sink_tile_stride=plan.length)
