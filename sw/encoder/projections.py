"""Lowering of the projections of an encoder layer: queries, keys, values, and the output."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Addend, Combine, Command, Output, Pass, Product, Scale, Sink
from systolith.sw.compiler.fields import Fields, Span, accumulators
from systolith.sw.encoder.plan import EncoderPlan, Slot
from systolith.sw.encoder.residual import Residual
from systolith.sw.reference.encoder import QuantizedEncoder


class ProjectionLowering:
    """Writes the linear parts of attention.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    residual : Residual
    config : Config
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, residual: Residual,
                 config: Config):
        self.model, self.plan, self.residual = model, plan, residual
        self.config, self.tiles = config, plan.tiles

    def projection(self, name: str, place: Slot, block: Span, rows: int, stride: int
                   ) -> tuple[Command, Command]:
        """Queries, keys or values (``q``, ``k``, ``v``): the product and its drain; ``rows`` is the
        first word of the INT8 rows of the block, ``stride`` words are between their tiles."""
        tiles, acc, (start, end), plan = self.tiles, self.residual.slot(), block, self.plan
        words = tiles.value_stride if name == "v" else tiles.query_stride
        beats = tiles.value_beats if name == "v" else tiles.query_beats
        product = Product(
            count0=tiles.width_in, act0_stride=stride, wgt0_stride=1, count1=end - start,
            act1_stride=1, acc1_stride=words, count2=words, wgt2_stride=tiles.width_in,
            acc2_stride=1, act_base=rows, wgt_base=place.weight.base, acc_base=acc)
        return product, Pass(
            **accumulators(acc, words), **self._projection_sink(name, start), rows=end - start,
            beats=beats, valid=beats * self.config.lanes, scale=Scale.COLUMN,
            const_base=place.constants.base, row_scale=1, row_read=plan.scale.base + start,
            position=plan.first + start, output=Output.INT8,
            **({"combine": Combine.ADD, "stream_base": place.vectors.base, "narrow": 1}
               if name == "q" else {}))

    def _projection_sink(self, name: str, start: int) -> Fields:
        plan, stride = self.plan, self.tiles.heads * self.tiles.head_in
        position = plan.first + start
        if name == "q":
            return {"sink": Sink.ACT, "sink_base": plan.queries + start, "sink_row_stride": 1,
                    "sink_tile_stride": plan.length}
        if name == "k":
            return {"sink": Sink.WGT_LANES, "sink_row_stride": stride, "sink_tile_stride": 1,
                    "sink_base": plan.keys.base + position // self.config.cols * stride}
        return {"sink": Sink.WGT_ROWS, "sink_row_stride": 1, "sink_tile_stride": plan.key_tiles,
                "sink_base": plan.values.base + position // self.config.rows}

    def output(self, place: Slot, block: Span, columns: Span | None = None) -> Iterator[Command]:
        """The output product of a block, added to ``columns`` of the residual, all for None."""
        acc, stride = self.residual.slot(), self.residual.stride(columns)
        contraction = self.model.heads * self.tiles.head_in
        tiles = self.tiles.width_out if columns is None else stride
        yield Product(
            count0=contraction, act0_stride=self.plan.length, wgt0_stride=1,
            count1=block[1] - block[0], act1_stride=1, acc1_stride=stride, count2=tiles,
            wgt2_stride=contraction, acc2_stride=1, act_base=self.plan.q.base + block[0],
            wgt_base=place.weight.base, acc_base=acc)
        yield Pass(**accumulators(acc, stride), **self.residual.added(block, columns),
                   addend=Addend.COLUMN, scale=Scale.COLUMN, const_base=place.constants.base)
