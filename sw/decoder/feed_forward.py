"""Lowering of the feed-forward network: gate, up, their product as INT8 rows, down."""
from collections.abc import Iterator

from systolith.hw.isa import (
    Combine,
    Command,
    Function,
    Output,
    Pass,
    Reduce,
    Sink,
)
from systolith.sw.compiler.fields import Fields, Span
from systolith.sw.decoder.hidden import HiddenLowering
from systolith.sw.decoder.plan import SIGMOID_TABLE
from systolith.sw.reference.quantized_decoder import QuantizedLayer


class FeedForwardLowering(HiddenLowering):
    """Writes norm and feed-forward network of one layer."""

    def commands(self, index: int, layer: QuantizedLayer) -> Iterator[Command]:
        """Gate and up of a block, then passes of the one before, then down of the one before."""
        if self.residents.streamed:
            yield from self._streamed(index, layer)
            return
        count = len(self.blocks)
        for step in range(count + 2):
            if step < count and self.tiles.hidden_out:
                yield from self.norm(f"norm2 {index}", layer.norm2, self.blocks[step])
                yield from self._hidden_products(index, step)
            if 0 <= step - 1 < count:
                yield from self._gate_passes(index, layer, step - 1)
                yield from self._up_passes(index, step - 1, self._hidden_slot(step - 1)
                                           + self.config.acc_half)
            if 0 <= step - 2:
                yield from self._down(index, layer, step - 2, self._down_slot(step - 2))

    def _streamed(self, index: int, layer: QuantizedLayer) -> Iterator[Command]:
        """The one block that there is: all accumulators are for ``up``, so ``gate`` is drained
        chunk by chunk before it."""
        block, = self.blocks
        yield from self.norm(f"norm2 {index}", layer.norm2, block)
        most = self.config.acc_half // (block[1] - block[0])
        for number, chunk in enumerate(self.weights.chunks(f"gate{index}", most)):
            acc, stride = number % 2 * self.config.acc_half, chunk.last - chunk.first
            yield from chunk.loads
            yield from self.chunk_product(chunk, self.left(block), acc, stride)
            yield from self._gate_drains(index, layer, block, acc, (chunk.first, chunk.last))
        yield from self.product(f"up{index}", self.left(block), 0, self.tiles.hidden_stride)
        yield from self._up_passes(index, 0, 0)
        yield from self._down(index, layer, 0, 0)

    def _hidden_slot(self, number: int) -> int:
        """Accumulators of a block's gate; those of its up are there in the other half."""
        return number % 2 * self.scratch.block * self.tiles.hidden_stride

    def _down_slot(self, number: int) -> int:
        """Accumulators of a block's down, after those of gates or ups."""
        return (number % 2 * self.config.acc_half
                + 2 * self.scratch.block * self.tiles.hidden_stride)

    def _hidden_products(self, index: int, number: int) -> Iterator[Command]:
        left, slot = self.left(self.blocks[number]), self._hidden_slot(number)
        for name, acc in (("gate", slot), ("up", slot + self.config.acc_half)):
            yield from self.product(f"{name}{index}", left, acc, self.tiles.hidden_stride)

    def _gate_passes(self, index: int, layer: QuantizedLayer, number: int) -> Iterator[Command]:
        tiles = 0, self.tiles.hidden_stride
        if self.tiles.hidden_out:
            yield from self._gate_drains(index, layer, self.blocks[number],
                                         self._hidden_slot(number), tiles)

    def _up_passes(self, index: int, number: int, acc: int) -> Iterator[Command]:
        """The gate times ``up`` as INT16, then INT8 rows and their scales."""
        yield from self._up_drain(index, self.blocks[number], acc)
        if not self.share.alone:
            yield from self.collect(self.blocks[number])
        if self.tiles.down_out:
            yield from self.quantize(number)

    def _up_drain(self, index: int, block: Span, acc: int) -> Iterator[Command]:
        """The gate times ``up``, and the largest magnitude of each row.

        A single row's columns that others have a part of are written twice: for them, and beside
        the place where the others' magnitudes come.
        """
        if not self.tiles.hidden_out:
            return
        scratch, constants = self.scratch, self.weights.constants(f"up{index}")
        sink, measured = scratch.u.base + self.first_beat, self.measured_hidden(block)
        yield from constants[1]
        if not self.share.alone and self.single:
            own = {"reduce": Reduce.ABSMAX, "row_write": scratch.u_peak.base}
            yield self._gated(constants[0], acc, block, self.own_peaks, own)
        yield self._gated(constants[0], acc, block, sink, measured if self.share.alone else {})

    def _gated(self, constants: int, acc: int, block: Span, sink: int, fields: Fields) -> Pass:
        return self._hidden_drain(
            constants, acc, block, (0, self.tiles.hidden_stride), sink, row=self.tiles.hidden_row,
            combine=Combine.MULTIPLY, stream_base=self.scratch.gate.base, **fields)

    def _gate_drains(self, index: int, layer: QuantizedLayer, block: Span, acc: int, tiles: Span
                     ) -> Iterator[Command]:
        """The gate times its sigmoid; with a pass for the sigmoid where its units differ."""
        scratch = self.scratch
        squash = {"function": Function.LINEAR, "table": SIGMOID_TABLE}
        own = {**squash, "combine": Combine.SELF}
        if layer.squash_words is not None:
            constants, loads = self._constants(f"squash{index}", tiles)
            yield from loads
            yield self._hidden_drain(constants, acc, block, tiles, scratch.sigmoid.base, **squash)
            own = {"combine": Combine.MULTIPLY, "stream_base": scratch.sigmoid.base}
        constants, loads = self._constants(f"gate{index}", tiles)
        yield from loads
        yield self._hidden_drain(constants, acc, block, tiles, scratch.gate.base, **own)

    def _part(self, tiles: Span) -> Span:
        """Beats of some output tiles: (first, one after the last)."""
        first, last = (tile * self.config.cols // self.config.lanes for tile in tiles)
        return first, min(last, self.tiles.hidden_beats)

    def _constants(self, name: str, tiles: Span) -> tuple[int, tuple[Command, ...]]:
        first, last = self._part(tiles)
        return self.weights.constants(name, first, last - first)

    def _hidden_drain(self, constants: int, acc: int, block: Span, tiles: Span, sink: int,
                      stream_base: int = 0, row: int | None = None, **fields: int) -> Pass:
        """Some output tiles, whose first accumulator is ``acc``; rows of the result have ``row``
        beats, by default as many as the stream's, those of the core."""
        own, (first, last) = self.tiles.hidden_beats, self._part(tiles)
        return Pass(**self.drain(acc, tiles[1] - tiles[0], last - first, constants, block),
                    valid=self.model.hidden - first * self.config.lanes, output=Output.INT16,
                    sink=Sink.VEC, sink_base=sink + first, sink_row_stride=row or own,
                    sink_tile_stride=1, stream_base=stream_base + first, stream_row_stride=own,
                    **fields)

    def _down(self, index: int, layer: QuantizedLayer, number: int, acc: int) -> Iterator[Command]:
        start, end = block = self.blocks[number]
        words = self.tiles.hidden_in
        left = {"act_base": self.u8_word(number), "count0": words, "act0_stride": 1,
                "count1": end - start, "act1_stride": words}
        columns = self.share.down
        if self.tiles.down_out:
            yield from self.product(f"down{index}", left, acc, self.tiles.down_stride,
                                    pieces=self.hidden_pieces)
        yield from self.grow(f"grow_feed_forward{index}", layer.grow_feed_forward, block, columns)
        yield from self.add(f"down{index}", acc, block, columns, everywhere=self.share.alone,
                            row_read=self.scratch.u_scale.base + start)
