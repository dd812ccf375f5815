"""Lowering of an encoder: commands in an order in which they could run one by one.

The order decides what runs side by side: each engine keeps it, and the scheduler lets go of the
rest. So what waits for another engine comes after what does not.
"""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import (
    Addend,
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
from systolith.sw.compiler.fields import Fields, Span, accumulators, spans
from systolith.sw.encoder.attention import AttentionLowering
from systolith.sw.encoder.plan import EXP2_TABLE, GELU_TABLE, EncoderPlan
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import UNIT_BITS, QuantizedEncoder, QuantizedEncoderLayer
from systolith.sw.reference.numerics import scale_word, split_scale
from systolith.sw.reference.rows import MAGNITUDE_BITS, ROW_MAX, tensor_word


def tensor(word: int) -> Fields:
    """A scale word as the command's own scale."""
    multiplier, shift = split_scale(word)
    return {"scale": Scale.TENSOR, "multiplier": int(multiplier), "shift": int(shift)}


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
        self.tiles = plan.tiles
        self.blocks = spans(plan.length, plan.block)
        self._products = 0

    def _slot(self) -> int:
        """First accumulator of the next product of a block: products go around in all there are."""
        words = self.plan.block * self.tiles.widest
        slots = max(1, self.config.acc_half // words)
        number, self._products = self._products, self._products + 1
        return number % 2 * self.config.acc_half + number // 2 % slots * words

    # Rows of vector memory -------------------------------------------------------------------

    def _x(self, block: Span) -> Fields:
        """Rows of the residual as the source of a pass."""
        beats = self.tiles.width_beats
        return {"source": Source.VEC, "source_base": self.plan.x.base + block[0] * beats,
                "source_row_stride": beats, "source_tile_stride": 1, "rows": block[1] - block[0],
                "beats": beats, "valid": self.model.width}

    def _x_sink(self, block: Span) -> Fields:
        beats = self.tiles.width_beats
        return {"output": Output.INT16, "sink": Sink.VEC, "sink_tile_stride": 1,
                "sink_base": self.plan.x.base + block[0] * beats, "sink_row_stride": beats}

    def _x_added(self, block: Span) -> Fields:
        """The residual as the stream that accumulators are added to, in place."""
        beats = self.tiles.width_beats
        return {**self._x_sink(block), "combine": Combine.ADD, "stream_row_stride": beats,
                "stream_base": self.plan.x.base + block[0] * beats, "beats": beats,
                "rows": block[1] - block[0], "valid": self.model.width}

    # Embedding and norms ---------------------------------------------------------------------

    def embedding(self) -> Iterator[Command]:
        """Positions, as an exact product with the identity, plus words that lie in ``x`` already.
        """
        yield from self.weights.fetch_norm(0)
        for number, block in enumerate(self.blocks):
            acc, base = self._slot(), self.positions_base(number)
            yield from self.weights.positions(block, base)
            for part in range(self.tiles.unit_out):
                yield self._position_product(block, base, acc + part, part)
            yield Pass(**accumulators(acc, self.tiles.position_stride), **self._x_added(block),
                       **tensor(self.model.position_word))
            yield from self.norm(block, self.weights.norm(0))

    def positions_base(self, number: int) -> int:
        """First word of the positions of a block in activation memory."""
        words = self.plan.block * 2 * self.tiles.units * self.tiles.unit_in
        return self.plan.q.base + number % 2 * words

    def _position_product(self, block: Span, base: int, acc: int, part: int) -> Command:
        tiles = self.tiles
        words = 2 * tiles.unit_in
        return Product(
            count0=words, act0_stride=1, wgt0_stride=1, count1=block[1] - block[0],
            act1_stride=tiles.units * words, acc1_stride=tiles.position_stride,
            count2=tiles.units, act2_stride=words, acc2_stride=tiles.unit_out, act_base=base,
            wgt_base=self.plan.identity.base + part * words, acc_base=acc)

    def norm(self, block: Span, constants: int) -> Iterator[Command]:
        """Layer norm of rows of the residual in place; ``constants``: its first column constant."""
        plan, x, sink = self.plan, self._x(block), self._x_sink(block)
        yield Pass(**x, **tensor(self.model.mean_word), reduce=Reduce.SUM, scalar=Scalar.MEAN,
                   row_write=plan.mean.base)
        yield Pass(**x, **sink, addend=Addend.ROW, row_read=plan.mean.base)
        yield Pass(**x, combine=Combine.SQUARE, reduce=Reduce.SUM, scalar=Scalar.INVERSE_ROOT,
                   row_write=plan.root.base)
        yield Pass(**x, **sink, scale=Scale.COLUMN, const_base=constants, row_scale=1,
                   row_read=plan.root.base)
        yield Pass(**x, **sink, addend=Addend.COLUMN, const_base=constants)

    def smooth(self, block: Span, constants: int, sink_base: int, stride: int) -> Iterator[Command]:
        """Rows of the residual as INT8 in activation memory, word ``tile * stride + row``."""
        plan, x, beats = self.plan, self._x(block), self.tiles.width_beats
        measure = {"scale": Scale.COLUMN, "const_base": constants + 2 * beats,
                   "reduce": Reduce.ABSMAX}
        yield Pass(**x, **measure, scalar=Scalar.RECIPROCAL, row_write=plan.inverse.base + block[0])
        yield Pass(**x, **measure, scalar=Scalar.SCALE, row_write=plan.scale.base + block[0])
        yield Pass(**x, scale=Scale.COLUMN, const_base=constants + beats, row_scale=1,
                   row_read=plan.inverse.base + block[0], output=Output.INT8, sink=Sink.ACT,
                   sink_base=sink_base, sink_row_stride=1, sink_tile_stride=stride)

    # Layers ----------------------------------------------------------------------------------

    def layer(self, index: int) -> Iterator[Command]:
        """One layer, from the normalized residual to that of the next."""
        layer = self.model.layers[index]
        yield from self._project(index, self.weights.norm(2 * index))
        yield from AttentionLowering(self.model, layer, self.plan, self.config).commands()
        yield from self._output(index, self.weights.norm(2 * index + 1))
        yield from self._feed_forward(index, layer, self.weights.norm(2 * index + 2))

    def _h(self, number: int) -> int:
        return self.plan.h.base + number % 2 * self.plan.block * self.tiles.width_in

    def _project(self, index: int, norm: int) -> Iterator[Command]:
        """Queries, keys and values; the rows of a block before the drains of the one before."""
        for name in ("q", "k", "v"):
            yield from self.weights.fetch(f"{name}{index}")
        pending: list[Command] = []
        for number, block in enumerate(self.blocks):
            yield from self.smooth(block, norm, self._h(number), self.plan.block)
            yield from pending
            pending = []
            for name in ("q", "k", "v"):
                product, drain = self._projection(name, index, number, block)
                yield product
                pending.append(drain)
        yield from pending

    def _projection(self, name: str, index: int, number: int, block: Span
                    ) -> tuple[Command, Command]:
        tiles, place, acc = self.tiles, self.weights.place(f"{name}{index}"), self._slot()
        stride = tiles.value_stride if name == "v" else tiles.query_stride
        beats = tiles.value_beats if name == "v" else tiles.query_beats
        (start, end), plan = block, self.plan
        product = Product(
            count0=tiles.width_in, act0_stride=plan.block, wgt0_stride=1, count1=end - start,
            act1_stride=1, acc1_stride=stride, count2=stride, wgt2_stride=tiles.width_in,
            acc2_stride=1, act_base=self._h(number), wgt_base=place.weight.base, acc_base=acc)
        return product, Pass(
            **accumulators(acc, stride), **self._projection_sink(name, start), rows=end - start,
            beats=beats, valid=beats * self.config.lanes, scale=Scale.COLUMN,
            const_base=place.constants.base, row_scale=1, row_read=plan.scale.base + start,
            position=start, output=Output.INT8,
            **({"combine": Combine.ADD, "stream_base": place.vectors.base, "narrow": 1}
               if name == "q" else {}))

    def _projection_sink(self, name: str, start: int) -> Fields:
        plan, stride = self.plan, self.model.heads * self.tiles.head_in
        if name == "q":
            return {"sink": Sink.ACT, "sink_base": plan.q.base + start, "sink_row_stride": 1,
                    "sink_tile_stride": plan.length}
        if name == "k":
            return {"sink": Sink.WGT_LANES, "sink_row_stride": stride, "sink_tile_stride": 1,
                    "sink_base": plan.keys.base + start // self.config.cols * stride}
        return {"sink": Sink.WGT_ROWS, "sink_row_stride": 1, "sink_tile_stride": plan.key_tiles,
                "sink_base": plan.values.base + start // self.config.rows}

    def _output(self, index: int, norm: int) -> Iterator[Command]:
        """The output product, the residual, the norm, and rows for the feed-forward network."""
        plan, tiles = self.plan, self.tiles
        yield from self.weights.fetch(f"out{index}")
        yield from self.weights.fetch_norm(2 * index + 1)
        place, contraction = self.weights.place(f"out{index}"), self.model.heads * tiles.head_in
        for block in self.blocks:
            acc = self._slot()
            yield Product(
                count0=contraction, act0_stride=plan.length, wgt0_stride=1,
                count1=block[1] - block[0], act1_stride=1, acc1_stride=tiles.width_stride,
                count2=tiles.width_out, wgt2_stride=contraction, acc2_stride=1,
                act_base=plan.q.base + block[0], wgt_base=place.weight.base, acc_base=acc)
            yield Pass(**accumulators(acc, tiles.width_stride), **self._x_added(block),
                       addend=Addend.COLUMN, scale=Scale.COLUMN, const_base=place.constants.base)
            yield from self.norm(block, norm)
            yield from self.smooth(block, norm, plan.q.base + block[0], plan.length)

    # Feed-forward ------------------------------------------------------------------------------

    def _feed_forward(self, index: int, layer: QuantizedEncoderLayer, norm: int
                      ) -> Iterator[Command]:
        """``up`` of one block, then ``down`` of the one before."""
        steps = [(group, block) for group in range(len(layer.groups)) for block in self.blocks]
        for step in range(len(steps) + 1):
            if step < len(steps):
                yield from self._up(index, layer, step, *steps[step])
            if step:
                group, block = steps[step - 1]
                yield from self._down(index, layer, step - 1, group, block)
                if group == len(layer.groups) - 1:
                    yield from self.norm(block, norm)

    def _up(self, index: int, layer: QuantizedEncoderLayer, step: int, group: int, block: Span
            ) -> Iterator[Command]:
        name, plan, tiles = f"up{index}.{group}", self.plan, self.tiles
        if block == self.blocks[0]:
            yield from self.weights.fetch(name)
            yield from self.weights.fetch(f"down{index}.{group}")
            if group == len(layer.groups) - 1:
                yield from self.weights.fetch_norm(2 * index + 2)
            yield Table(table=GELU_TABLE, source_base=self.weights.table(name))
        place, acc, (start, end) = self.weights.place(name), self._slot(), block
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
        tiles, place, acc = self.tiles, self.weights.place(f"down{index}.{group}"), self._slot()
        words = -(-layer.groups[group].down.weight.shape[0] // self.config.rows)
        yield Product(
            count0=words, act0_stride=1, wgt0_stride=1, count1=block[1] - block[0],
            act1_stride=tiles.group_in, acc1_stride=tiles.width_stride, count2=tiles.width_out,
            wgt2_stride=words, acc2_stride=1, act_base=self._hidden(step),
            wgt_base=place.weight.base, acc_base=acc)
        yield Pass(**accumulators(acc, tiles.width_stride), **self._x_added(block),
                   scale=Scale.COLUMN, const_base=place.constants.base, row_scale=1,
                   row_read=self.plan.hidden_scale[step % 2].base)

    # Pooling -----------------------------------------------------------------------------------

    def pool(self) -> Iterator[Command]:
        """Mean of the rows that exist, over its length, in the first words of ``u``."""
        plan, tiles, rows = self.plan, self.tiles, self.config.rows
        for start, end in spans(plan.valid, plan.block):
            yield Pass(**self._x((start, end)), scale=Scale.COLUMN, const_base=plan.pool_in.base,
                       output=Output.INT8, sink=Sink.WGT_ROWS, position=start,
                       sink_base=plan.pool.base + start // rows, sink_row_stride=1,
                       sink_tile_stride=plan.key_tiles)
        acc = self._slot()
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

    def commands(self) -> Iterator[Command]:
        """The whole run."""
        yield from self.weights.start()
        yield Table(table=EXP2_TABLE, source_base=self.plan.table.base)
        yield from self.embedding()
        for index in range(len(self.model.layers)):
            yield from self.layer(index)
        yield from self.pool()
        yield from self.weights.finish()
