"""Lowering of the projections of an attention layer: queries, keys, values, and the output."""
from collections.abc import Iterator

from systolith.hw.isa import Combine, Command, Output, Pass, Product, Sink
from systolith.sw.compiler.fields import Span
from systolith.sw.decoder.plan import LayerPlaces
from systolith.sw.decoder.rows import RowLowering
from systolith.sw.reference.decoder import QuantizedLayer


class ProjectionLowering(RowLowering):
    """Writes the linear parts of attention; keys and values go to the cache."""

    def inputs(self, places: LayerPlaces) -> Iterator[Command]:
        """Norm, queries, keys and values; a block's norm comes before the drains of the last."""
        yield from self.norm(*self.blocks[0])
        for number, block in enumerate(self.blocks):
            yield from self._project(places, number, block)
            if number + 1 < len(self.blocks):
                yield from self.norm(*self.blocks[number + 1])
            yield from self._project_passes(places, number, block)

    def output(self, layer: QuantizedLayer, places: LayerPlaces) -> Iterator[Command]:
        """The output product, and its addition to the residual, of all blocks."""
        for number, block in enumerate(self.blocks):
            yield from self._output(layer, places, number, block)

    def _project_slots(self, number: int) -> dict[str, int]:
        """Accumulators of a block's queries, keys and values, the keys in the other half."""
        rows, tiles = self.scratch.block, self.tiles
        base = number % 2 * rows * tiles.projected_stride
        return {"q": base, "k": base + self.config.acc_half, "v": base + rows * tiles.query_stride}

    def _project(self, places: LayerPlaces, number: int, block: Span) -> Iterator[Command]:
        strides = {"q": self.tiles.query_stride, "k": self.tiles.key_stride,
                   "v": self.tiles.value_stride}
        for name, slot in self._project_slots(number).items():
            yield self.product(getattr(places, name), strides[name], slot, strides[name], block)

    def _project_passes(self, places: LayerPlaces, number: int, block: Span) -> Iterator[Command]:
        tiles, (start, _) = self.tiles, block
        slots, lanes = self._project_slots(number), self.config.lanes
        rotate = {"combine": Combine.ROTATE, "narrow": 1, "stream_row_stride": tiles.query_beats,
                  "stream_base": self.scratch.rope.base + start * tiles.query_beats}
        position = self.position + start
        yield Pass(**self.drain(slots["q"], tiles.query_stride, tiles.query_beats,
                                 places.q.constants.base, block), **rotate,
                   valid=tiles.query_beats * lanes, output=Output.INT8, sink=Sink.ACT,
                   sink_base=self.scratch.q.base + start, sink_row_stride=1,
                   sink_tile_stride=self.scratch.length)
        stride = self.model.kv_heads * tiles.head_in
        yield Pass(**self.drain(slots["k"], tiles.key_stride, tiles.key_beats,
                                 places.k.constants.base, block), **rotate,
                   valid=tiles.key_beats * lanes, position=position, output=Output.INT8,
                   sink=Sink.WGT_LANES, sink_row_stride=stride, sink_tile_stride=1,
                   sink_base=places.keys.base + position // self.config.cols * stride)
        yield Pass(**self.drain(slots["v"], tiles.value_stride, tiles.value_beats,
                                 places.v.constants.base, block),
                   valid=tiles.value_beats * lanes, position=position, output=Output.INT8,
                   sink=Sink.WGT_ROWS, sink_row_stride=1,
                   sink_tile_stride=self.residents.value_tiles,
                   sink_base=places.values.base + position // self.config.rows)

    def _output(self, layer: QuantizedLayer, places: LayerPlaces, number: int,
                block: Span) -> Iterator[Command]:
        """The output product, and its addition to the residual."""
        start, end = block
        tiles, acc = self.tiles, number % 2 * self.config.acc_half
        contraction = self.model.heads * tiles.head_in
        yield Product(
            count0=contraction, act0_stride=self.scratch.length, wgt0_stride=1,
            count1=end - start, act1_stride=1, acc1_stride=tiles.width_stride,
            count2=tiles.width_out, wgt2_stride=contraction, acc2_stride=1,
            act_base=self.scratch.q.base + start, wgt_base=places.out.weight.base, acc_base=acc)
        yield from self.grow(layer.grow_attention, block)
        yield self.add(places.out, acc, block)
