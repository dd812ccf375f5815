"""Lowering of the projections of an attention layer: keys, values, queries, and the output."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Addend, Combine, Command, Output, Pass, Product, Scale, Sink
from systolith.sw.compiler.allocate import Buffer
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
from systolith.sw.reference.attention import Projection, QuantizedAttention


class ProjectionLowering:
    """Writes the commands of the linear parts of one layer.

    Blocks of rows alternate between the halves of the accumulators, so one is drained while the
    next is multiplied.

    Parameters
    ----------
    layer : QuantizedAttention
        Supplies sizes, and which projections have a bias.
    plan : Plan
        Supplies all places.
    config : Config
    """

    def __init__(self, layer: QuantizedAttention, plan: Plan, config: Config):
        self.layer = layer
        self.plan = plan
        self.config = config
        self._blocks = 0

    def inputs(self) -> Iterator[Command]:
        """Keys, values and queries of all heads, each key head with the queries that use it."""
        layer, plan = self.layer, self.plan
        for kv in range(layer.kv_heads):
            yield from self._project(layer.k[kv], plan.wk[kv], self._constant("k", kv),
                                     self._key_sink(kv), rotary=True)
            yield from self._project(layer.v[kv], plan.wv[kv], self._constant("v", kv),
                                     self._value_sink(kv), rotary=False)
            for head in range(kv * layer.group, (kv + 1) * layer.group):
                yield from self._project(layer.q[head], plan.wq[head], self._constant("q", head),
                                         query_sink(plan, head), rotary=True)

    def constant_order(self) -> list[tuple[str, int]]:
        """Projections in the order of their column constants; the output's come after them."""
        return [*((name, i) for name in "kv" for i in range(self.layer.kv_heads)),
                *(("q", i) for i in range(self.layer.heads))]

    def _constant(self, name: str, index: int) -> int:
        place = self.constant_order().index((name, index))
        return self.plan.constants.base + place * self.plan.tiles.head_beats

    def _key_sink(self, kv: int) -> Fields:
        """Transposed: word ``position tile * head_in + contraction tile``."""
        return {"sink": Sink.WGT_LANES, "sink_base": self.plan.k[kv].base,
                "sink_row_stride": self.plan.tiles.head_in, "sink_tile_stride": 1,
                "beats": ceil_div(self.layer.head_dim, self.config.lanes)}

    def _value_sink(self, kv: int) -> Fields:
        """Straight: word ``output tile * position tiles + position tile``."""
        return {"sink": Sink.WGT_ROWS, "sink_base": self.plan.v[kv].base, "sink_row_stride": 1,
                "sink_tile_stride": ceil_div(self.plan.shape.length, self.config.rows),
                "beats": ceil_div(self.layer.head_dim, self.config.lanes)}

    def _project(self, projection: Projection, weight: Buffer, constant: int, sink: Fields,
                 *, rotary: bool) -> Iterator[Command]:
        plan, tiles = self.plan, self.plan.tiles
        for start, end in spans(plan.shape.length, plan.project_rows):
            acc = self._next_slot(plan.project_rows * plan.head_stride)
            yield Product(
                count0=tiles.width_in, act0_stride=1, wgt0_stride=1,
                count1=end - start, act1_stride=tiles.width_in, acc1_stride=plan.head_stride,
                count2=tiles.head_out, wgt2_stride=tiles.width_in, acc2_stride=1,
                act_base=plan.h.base + start * tiles.width_in, wgt_base=weight.base, acc_base=acc)
            yield Pass(
                **accumulators(acc, plan.head_stride), **shifted(sink, start, self.config),
                **self._rotation(start, rotary and plan.shape.rotary),
                rows=end - start, valid=self.layer.head_dim, position=start,
                addend=Addend.NONE if projection.bias is None else Addend.COLUMN,
                scale=Scale.COLUMN, const_base=constant, output=Output.INT8)

    def _rotation(self, start: int, rotary: bool) -> Fields:
        if not rotary:
            return {}
        stride = self.plan.tiles.head_beats
        return {"combine": Combine.ROTATE, "narrow": 1, "stream_row_stride": stride,
                "stream_base": self.plan.rope.base + start * stride}

    def output(self) -> Iterator[tuple[list[Command], Span]]:
        """The output product and the residual, block by block of rows: (commands, rows)."""
        plan = self.plan
        for span in spans(plan.shape.length, plan.out_rows):
            groups = spans(plan.tiles.width_out, plan.out_tiles)
            yield [c for group in groups for c in self._output_block(span, group)], span

    def _output_block(self, span: Span, group: Span) -> Iterator[Command]:
        plan, tiles, cols = self.plan, self.plan.tiles, self.config.cols
        (start, end), (first, last) = span, group
        contraction = self.layer.heads * tiles.head_in
        acc = self._next_slot(plan.out_rows * plan.out_tiles)
        yield Product(
            count0=contraction, act0_stride=plan.shape.length, wgt0_stride=1,
            count1=end - start, act1_stride=1, acc1_stride=last - first,
            count2=last - first, wgt2_stride=contraction, acc2_stride=1,
            act_base=plan.q.base + start, wgt_base=plan.wo.base + first * contraction, acc_base=acc)
        columns = min(last * cols, plan.shape.width) - first * cols
        skip = first * cols // self.config.lanes
        row = start * tiles.width_beats + skip
        constants = plan.constants.base + len(self.constant_order()) * tiles.head_beats
        yield Pass(
            **accumulators(acc, last - first), rows=end - start,
            beats=ceil_div(columns, self.config.lanes), valid=columns,
            addend=Addend.NONE if self.layer.out.bias is None else Addend.COLUMN,
            scale=Scale.COLUMN, const_base=constants + skip,
            combine=Combine.ADD, stream_base=plan.x.base + row,
            stream_row_stride=tiles.width_beats, output=Output.INT16, sink=Sink.VEC,
            sink_base=plan.y.base + row, sink_row_stride=tiles.width_beats, sink_tile_stride=1)

    def _next_slot(self, words: int) -> int:
        """First accumulator of the next block, which needs at most ``words`` words."""
        self._blocks += 1
        slots = min(self.config.acc_half // words, self.plan.slots)
        return accumulator_slot(self._blocks, words, slots, self.config)
