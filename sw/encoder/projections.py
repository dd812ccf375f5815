"""Lowering of the projections of an encoder layer: queries, keys, values, and the output."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Addend, Combine, Command, Output, Pass, Product, Scale, Sink
from systolith.sw.compiler.fields import Fields, Span, accumulators
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.residual import Residual
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import QuantizedEncoder


class ProjectionLowering:
    """Writes the linear parts of attention.

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

    def _h(self, number: int) -> int:
        return self.plan.h.base + number % 2 * self.plan.block * self.tiles.width_in

    def inputs(self, index: int, norm: int) -> Iterator[Command]:
        """Queries, keys and values; the rows of a block before the drains of the one before."""
        for name in ("q", "k", "v"):
            yield from self.weights.fetch(f"{name}{index}")
        pending: list[Command] = []
        for number, block in enumerate(self.residual.blocks):
            yield from self.residual.smooth(block, norm, self._h(number), self.plan.block)
            yield from pending
            pending = []
            for name in ("q", "k", "v"):
                product, drain = self._projection(name, index, number, block)
                yield product
                pending.append(drain)
        yield from pending

    def _projection(self, name: str, index: int, number: int, block: Span
                    ) -> tuple[Command, Command]:
        tiles, place, acc = self.tiles, self.weights.place(f"{name}{index}"), self.residual.slot()
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
            position=plan.first + start, output=Output.INT8,
            **({"combine": Combine.ADD, "stream_base": place.vectors.base, "narrow": 1}
               if name == "q" else {}))

    def _projection_sink(self, name: str, start: int) -> Fields:
        plan, stride = self.plan, self.model.heads * self.tiles.head_in
        position = plan.first + start
        if name == "q":
            return {"sink": Sink.ACT, "sink_base": plan.q.base + start, "sink_row_stride": 1,
                    "sink_tile_stride": plan.length}
        if name == "k":
            return {"sink": Sink.WGT_LANES, "sink_row_stride": stride, "sink_tile_stride": 1,
                    "sink_base": plan.keys.base + position // self.config.cols * stride}
        return {"sink": Sink.WGT_ROWS, "sink_row_stride": 1, "sink_tile_stride": plan.key_tiles,
                "sink_base": plan.values.base + position // self.config.rows}

    def output(self, index: int, norm: int) -> Iterator[Command]:
        """The output product, the residual, the norm, and rows for the feed-forward network."""
        plan, tiles = self.plan, self.tiles
        yield from self.weights.fetch(f"out{index}")
        yield from self.weights.fetch_norm(2 * index + 1)
        place, contraction = self.weights.place(f"out{index}"), self.model.heads * tiles.head_in
        for block in self.residual.blocks:
            acc = self.residual.slot()
            yield Product(
                count0=contraction, act0_stride=plan.length, wgt0_stride=1,
                count1=block[1] - block[0], act1_stride=1, acc1_stride=tiles.width_stride,
                count2=tiles.width_out, wgt2_stride=contraction, acc2_stride=1,
                act_base=plan.q.base + block[0], wgt_base=place.weight.base, acc_base=acc)
            yield Pass(**accumulators(acc, tiles.width_stride), **self.residual.added(block),
                       addend=Addend.COLUMN, scale=Scale.COLUMN, const_base=place.constants.base)
            yield from self.residual.norm(block, norm)
            yield from self.residual.smooth(block, norm, plan.q.base + block[0], plan.length)
