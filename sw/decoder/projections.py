"""Lowering of the projections of an attention layer: queries, keys, values, and the output."""
from collections.abc import Iterator

from systolith.hw.isa import Combine, Command, Output, Pass, Sink
from systolith.sw.compiler.fields import Fields, Span, spans
from systolith.sw.compiler.zero_tiles import COMMAND_CYCLES
from systolith.sw.decoder.rows import RowLowering
from systolith.sw.reference.quantized_decoder import QuantizedLayer


class ProjectionLowering(RowLowering):
    """Writes the linear parts of attention; keys and values go to the cache."""

    def inputs(self, index: int, layer: QuantizedLayer) -> Iterator[Command]:
        """Norm, queries, keys and values; a block's norm comes before the drains of the last."""
        if not self.model.heads:
            return
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
        """Keys, queries, values: what the scores need first, so that they need not wait for the
        drains of what was multiplied last."""
        tiles, slots, left = self.tiles, self._project_slots(number), self.left(block)
        yield from self.product(f"k{index}", left, slots["k"], tiles.key_stride)
        yield from self.product(f"q{index}", left, slots["q"], tiles.query_stride,
                                most=self._query_tiles)
        yield from self.product(f"v{index}", left, slots["v"], tiles.value_stride)

    @property
    def _query_tiles(self) -> int:
        """Output tiles of queries that are multiplied and drained together: of a single row those
        that share keys, where they take longer than a command; all of more rows, which have other
        work under the drain."""
        tiles, size = self.tiles, self.config.cols
        count, rest = divmod(self.group * tiles.head_in * self.config.rows, size)
        short = count * tiles.width_in < COMMAND_CYCLES
        return tiles.query_stride if self.scratch.length > 1 or rest or short else count

    def _project_passes(self, index: int, number: int, block: Span) -> Iterator[Command]:
        slots = self._project_slots(number)
        yield from self._key_pass(index, slots["k"], block)
        for part in spans(self.tiles.query_stride, self._query_tiles):
            yield from self._query_pass(index, slots["q"], block, part)
        yield from self._value_pass(index, slots["v"], block)

    def _rotation(self, block: Span, first: int = 0) -> Fields:
        """Rotary embedding of columns from beat ``first`` on."""
        beats = self.tiles.query_beats
        return {"combine": Combine.ROTATE, "narrow": 1, "output": Output.INT8,
                "stream_row_stride": beats,
                "stream_base": self.scratch.rope.base + block[0] * beats + first}

    def _query_pass(self, index: int, slot: int, block: Span, part: Span) -> Iterator[Command]:
        """Queries of the output tiles ``part``."""
        config, tiles = self.config, self.tiles
        first, last = (min(tile * config.cols // config.lanes, tiles.query_beats) for tile in part)
        constants, loads = self.weights.constants(f"q{index}", first, last - first)
        yield from loads
        yield Pass(
            **self.drain(slot + part[0], tiles.query_stride, last - first, constants, block),
            **self._rotation(block, first), valid=(last - first) * config.lanes, sink=Sink.ACT,
            sink_base=self.queries(0) + block[0]
            + first * config.lanes // config.rows * self.scratch.length,
            sink_row_stride=1, sink_tile_stride=self.scratch.length)

    def _key_pass(self, index: int, slot: int, block: Span) -> Iterator[Command]:
        tiles, position = self.tiles, self.position + block[0]
        stride = self.model.kv_heads * tiles.head_in
        constants, loads = self.weights.constants(f"k{index}")
        yield from loads
        yield Pass(**self.drain(slot, tiles.key_stride, tiles.key_beats, constants, block),
                   **self._rotation(block), valid=tiles.key_beats * self.config.lanes,
                   position=position, sink=Sink.WGT_LANES, sink_row_stride=stride,
                   sink_tile_stride=1, sink_base=self.residents.caches[index].keys.base
                   + position // self.config.cols * stride)

    def _value_pass(self, index: int, slot: int, block: Span) -> Iterator[Command]:
        tiles, position = self.tiles, self.position + block[0]
        constants, loads = self.weights.constants(f"v{index}")
        yield from loads
        yield Pass(**self.drain(slot, tiles.value_stride, tiles.value_beats, constants, block),
                   valid=tiles.value_beats * self.config.lanes, position=position,
                   output=Output.INT8, sink=Sink.WGT_ROWS, sink_row_stride=1,
                   sink_tile_stride=self.residents.value_tiles,
                   sink_base=self.residents.caches[index].values.base
                   + position // self.config.rows)

    def _output(self, index: int, layer: QuantizedLayer, number: int,
                block: Span) -> Iterator[Command]:
        """The output product, and its addition to the residual."""
        start, end = block
        tiles, acc, columns = self.tiles, number % 2 * self.config.acc_half, self.share.output
        words = tiles.mixed_in
        left = {"act_base": self.scratch.q.base + start, "count0": words,
                "act0_stride": self.scratch.length, "count1": end - start, "act1_stride": 1}
        if tiles.output_out:
            yield from self.product(f"out{index}", left, acc, tiles.output_stride,
                                    pieces=self.pieces(self._mixed_pieces, tiles.output_out))
        yield from self.grow(f"grow_attention{index}", layer.grow_attention, block, columns)
        yield from self.add(f"out{index}", acc, block, columns, everywhere=self.share.repeated)

    @property
    def _mixed_pieces(self) -> list[Span]:
        """Words of the mixed values: of the heads that come one by one, then those of other cores.
        """
        size, together = self.tiles.head_in, self.heads_together * self.tiles.head_in
        first, last = (head * size for head in self.share.heads)
        own, *others = self.arriving(self.tiles.mixed_in, (first, last))
        return [(first + start, first + end) for start, end in spans(last - first, together)
                ] + others if last > first else [own, *others]
