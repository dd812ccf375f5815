"""Lowering of the projections of an attention layer: queries, keys, values, and the output."""
from collections.abc import Iterator

from systolith.hw.isa import Combine, Command, Output, Pass, Sink
from systolith.sw.compiler.fields import Span
from systolith.sw.decoder.rows import RowLowering
from systolith.sw.reference.decoder import QuantizedLayer


class ProjectionLowering(RowLowering):
    """Writes the linear parts of attention; keys and values go to the cache."""

    def inputs(self, index: int, layer: QuantizedLayer) -> Iterator[Command]:
        """Norm, queries, keys and values; a block's norm comes before the drains of the last."""
        yield from self.norm(f"norm1 {index}", layer.norm1, self.blocks[0])
        for number, block in enumerate(self.blocks):
            yield from self._project(index, number, block)
            if number + 1 < len(self.blocks):
                yield from self.norm(f"norm1 {index}", layer.norm1, self.blocks[number + 1])
            yield from self._project_passes(index, number, block)

    def output(self, index: int, layer: QuantizedLayer) -> Iterator[Command]:
        """The output product, and its addition to the residual, of all blocks."""
        for number, block in enumerate(self.blocks):
            yield from self._output(index, layer, number, block)

    def _project_slots(self, number: int) -> dict[str, int]:
        """Accumulators of a block's queries, keys and values, the keys in the other half."""
        rows, tiles = self.scratch.block, self.tiles
        base = number % 2 * rows * tiles.projected_stride
        return {"q": base, "k": base + self.config.acc_half, "v": base + rows * tiles.query_stride}

    def _project(self, index: int, number: int, block: Span) -> Iterator[Command]:
        strides = {"q": self.tiles.query_stride, "k": self.tiles.key_stride,
                   "v": self.tiles.value_stride}
        for name, slot in self._project_slots(number).items():
            yield from self.product(f"{name}{index}", self.left(block), slot, strides[name])

    def _project_passes(self, index: int, number: int, block: Span) -> Iterator[Command]:
        tiles, (start, _) = self.tiles, block
        slots, lanes = self._project_slots(number), self.config.lanes
        rotate = {"combine": Combine.ROTATE, "narrow": 1, "stream_row_stride": tiles.query_beats,
                  "stream_base": self.scratch.rope.base + start * tiles.query_beats}
        position, cache = self.position + start, self.residents.caches[index]
        constants, loads = self.weights.constants(f"q{index}")
        yield from loads
        yield Pass(**self.drain(slots["q"], tiles.query_stride, tiles.query_beats, constants,
                                block), **rotate,
                   valid=tiles.query_beats * lanes, output=Output.INT8, sink=Sink.ACT,
                   sink_base=self.scratch.q.base + start, sink_row_stride=1,
                   sink_tile_stride=self.scratch.length)
        stride = self.model.kv_heads * tiles.head_in
        constants, loads = self.weights.constants(f"k{index}")
        yield from loads
        yield Pass(**self.drain(slots["k"], tiles.key_stride, tiles.key_beats, constants, block),
                   **rotate,
                   valid=tiles.key_beats * lanes, position=position, output=Output.INT8,
                   sink=Sink.WGT_LANES, sink_row_stride=stride, sink_tile_stride=1,
                   sink_base=cache.keys.base + position // self.config.cols * stride)
        constants, loads = self.weights.constants(f"v{index}")
        yield from loads
        yield Pass(**self.drain(slots["v"], tiles.value_stride, tiles.value_beats, constants,
                                block),
                   valid=tiles.value_beats * lanes, position=position, output=Output.INT8,
                   sink=Sink.WGT_ROWS, sink_row_stride=1,
                   sink_tile_stride=self.residents.value_tiles,
                   sink_base=cache.values.base + position // self.config.rows)

    def _output(self, index: int, layer: QuantizedLayer, number: int,
                block: Span) -> Iterator[Command]:
        """The output product, and its addition to the residual."""
        start, end = block
        tiles, acc = self.tiles, number % 2 * self.config.acc_half
        left = {"act_base": self.scratch.q.base + start, "count0": self.model.heads * tiles.head_in,
                "act0_stride": self.scratch.length, "count1": end - start, "act1_stride": 1}
        yield from self.product(f"out{index}", left, acc, tiles.width_stride)
        yield from self.grow(f"grow_attention{index}", layer.grow_attention, block)
        yield from self.add(f"out{index}", acc, block)
