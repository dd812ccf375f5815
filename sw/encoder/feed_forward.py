"""Lowering of the feed-forward network of an encoder layer."""
from collections.abc import Iterator

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
from systolith.sw.encoder.plan import GELU_TABLE, EncoderPlan
from systolith.sw.encoder.residual import Residual
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import QuantizedEncoder, QuantizedEncoderLayer
from systolith.sw.reference.rows import MAGNITUDE_BITS, ROW_MAX, tensor_word


class FeedForwardLowering:
    """Writes the feed-forward network, group by group of its columns.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    weights : WeightStream
        Brings weights into the core just before they are used.
    residual : Residual
    config : Config
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, weights: WeightStream,
                 residual: Residual, config: Config):
        self.model, self.plan, self.weights = model, plan, weights
        self.residual, self.config, self.tiles = residual, config, plan.tiles

    def commands(self, index: int, layer: QuantizedEncoderLayer, norm: int
                 ) -> Iterator[Command]:
        """``up`` of one block, then ``down`` of the one before."""
        blocks = self.residual.blocks
        steps = [(group, block) for group in range(len(layer.groups)) for block in blocks]
        for step in range(len(steps) + 1):
            if step < len(steps):
                yield from self._up(index, layer, step, *steps[step])
            if step:
                group, block = steps[step - 1]
                yield from self._down(index, layer, step - 1, group, block)
                if group == len(layer.groups) - 1:
                    yield from self.residual.norm(block, norm)

    def _up(self, index: int, layer: QuantizedEncoderLayer, step: int, group: int, block: Span
            ) -> Iterator[Command]:
        name, plan, tiles = f"up{index}.{group}", self.plan, self.tiles
        if block == self.residual.blocks[0]:
            yield from self.weights.fetch(name)
            yield from self.weights.fetch(f"down{index}.{group}")
            if group == len(layer.groups) - 1:
                yield from self.weights.fetch_norm(2 * index + 2)
            yield Table(table=GELU_TABLE, source_base=self.weights.table(name))
        place, acc, (start, end) = self.weights.place(name), self.residual.slot(), block
        size = layer.groups[group].up.weight.shape[1]
        out = -(-size // self.config.cols)
        yield Product(
            count0=tiles.width_in, act0_stride=plan.length, wgt0_stride=1, count1=end - start,
            act1_stride=1, acc1_stride=tiles.group_stride, count2=out, wgt2_stride=tiles.width_in,
            acc2_stride=1, act_base=plan.q.base + start, wgt_base=place.weight.base, acc_base=acc)
        sink = {"output": Output.INT16, "sink": Sink.VEC, "sink_base": plan.u.base,
                "sink_row_stride": tiles.group_beats, "sink_tile_stride": 1}
        shape = {"rows": end - start, "beats": tiles.group_beats, "valid": size}
        yield Pass(**accumulators(acc, tiles.group_stride), **shape, **sink, scale=Scale.COLUMN,
                   const_base=place.constants.base, row_scale=1, row_read=plan.scale.base + start,
                   combine=Combine.ADD, stream_base=place.vectors.base)
        yield from self._gelu(step, shape, sink)

    def _gelu(self, step: int, shape: Fields, sink: Fields) -> Iterator[Command]:
        """GELU of a block in place, then INT8 rows with their scales."""
        plan, beats, words = self.plan, self.tiles.group_beats, self.tiles.group_in
        inverse, scale = plan.hidden_inverse[step % 2].base, plan.hidden_scale[step % 2].base
        source = {"source": Source.VEC, "source_base": plan.u.base, "source_row_stride": beats,
                  "source_tile_stride": 1, **shape}
        yield Pass(**source, **sink, function=Function.LINEAR, table=GELU_TABLE,
                   combine=Combine.SELF, reduce=Reduce.ABSMAX, scalar=Scalar.RECIPROCAL,
                   row_write=inverse)
        yield Pass(**source, **tensor(tensor_word(ROW_MAX)), row_scale=1, row_read=inverse,
                   output=Output.INT8, sink=Sink.ACT, sink_base=self._hidden(step),
                   sink_row_stride=words, sink_tile_stride=1)
        yield Pass(**source, **tensor(tensor_word(1 << MAGNITUDE_BITS)), reduce=Reduce.ABSMAX,
                   scalar=Scalar.SCALE, row_write=scale)

    def _hidden(self, step: int) -> int:
        return self.plan.hidden.base + step % 2 * self.plan.block * self.tiles.group_in

    def _down(self, index: int, layer: QuantizedEncoderLayer, step: int, group: int, block: Span
              ) -> Iterator[Command]:
        tiles, acc = self.tiles, self.residual.slot()
        place = self.weights.place(f"down{index}.{group}")
        words = -(-layer.groups[group].down.weight.shape[0] // self.config.rows)
        yield Product(
            count0=words, act0_stride=1, wgt0_stride=1, count1=block[1] - block[0],
            act1_stride=tiles.group_in, acc1_stride=tiles.width_stride, count2=tiles.width_out,
            wgt2_stride=words, acc2_stride=1, act_base=self._hidden(step),
            wgt_base=place.weight.base, acc_base=acc)
        yield Pass(**accumulators(acc, tiles.width_stride), **self.residual.added(block),
                   scale=Scale.COLUMN, const_base=place.constants.base, row_scale=1,
                   row_read=self.plan.hidden_scale[step % 2].base)
