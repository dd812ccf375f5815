"""Lowering of the feed-forward network: gate, up, their product as INT8 rows, down."""
from collections.abc import Iterator

from systolith.hw.config import Region
from systolith.hw.isa import (
    WORDS,
    Combine,
    Command,
    Engine,
    Function,
    Output,
    Pass,
    Reduce,
    Scalar,
    Scale,
    Sink,
)
from systolith.sw.compiler.fields import Fields, Span, tensor
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.decoder.gather import MEET
from systolith.sw.decoder.plan import SIGMOID_TABLE
from systolith.sw.decoder.rows import RowLowering
from systolith.sw.reference.quantized_decoder import QuantizedLayer
from systolith.sw.reference.rows import MAGNITUDE_BITS, ROW_MAX, tensor_word

#: Cycles from the start of a short pass to that of the next: one to fetch each word, one to take
#: semaphores, one until the vector unit takes it.
PASS_CYCLES = WORDS[Engine.VECTOR] + 2


class FeedForwardLowering(RowLowering):
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
            yield from self._collect(self.blocks[number])
        if self.tiles.down_out:
            yield from self._quantize(number)

    def _up_drain(self, index: int, block: Span, acc: int) -> Iterator[Command]:
        """The gate times ``up``, and the largest magnitude of each row.

        A single row's columns that others have a part of are written twice: for them, and beside
        the place where the others' magnitudes come.
        """
        if not self.tiles.hidden_out:
            return
        scratch, constants = self.scratch, self.weights.constants(f"up{index}")
        sink, measured = scratch.u.base + self._first_beat, self._measured(block)
        yield from constants[1]
        if not self.share.alone and self._single:
            own = {"reduce": Reduce.ABSMAX, "row_write": scratch.u_peak.base}
            yield self._gated(constants[0], acc, block, self._own_peaks, own)
        yield self._gated(constants[0], acc, block, sink, measured if self.share.alone else {})

    def _gated(self, constants: int, acc: int, block: Span, sink: int, fields: Fields) -> Pass:
        return self._hidden_drain(
            constants, acc, block, (0, self.tiles.hidden_stride), sink, row=self.tiles.hidden_row,
            combine=Combine.MULTIPLY, stream_base=self.scratch.gate.base, **fields)

    def _measured(self, block: Span) -> Fields:
        """A pass that finds what hidden rows are to be divided by."""
        return {"reduce": Reduce.ABSMAX, "scalar": Scalar.RECIPROCAL,
                "row_write": self.scratch.u_inverse.base + block[0]}

    def _collect(self, block: Span) -> Iterator[Command]:
        """Hidden columns to the other cores and theirs from them, and their largest magnitude.

        Of a single row every core has the magnitude of its own columns at once: only these are
        waited for, and the largest of a few is found sooner than that of a whole row.
        """
        if len(self.blocks) > 1:
            yield MEET  # all have read the block before, which lies at the same place
        if self.tiles.hidden_out:
            yield from self._send_hidden(block)
        yield MEET
        if not self.tiles.down_out:
            return
        if not self._single:
            yield Pass(**self._hidden_rows(block), **self._measured(block))
            return
        beats = self.weights.sizes["peaks"].beats
        constants, loads = self.weights.constants("peaks")
        yield from loads
        yield Pass(**self.vectors(self._own_peaks, beats, 0, 1), scale=Scale.COLUMN,
                   const_base=constants, beats=beats, valid=beats * self.config.lanes,
                   **self._measured(block))

    def _send_hidden(self, block: Span) -> Iterator[Command]:
        """The own hidden columns to the other cores; of a single row their magnitude before them.

        A magnitude is INT32. Its lower half is read as INT16, the other has a factor of zero.
        """
        row, beats, size = self.tiles.hidden_row, self.tiles.hidden_beats, self.config.word_bytes
        target = self.scratch.u.base + self._first_beat
        if not self._single:
            yield from self.mesh.rows(Region.VEC, target, beats, (0, block[1] - block[0]), row)
            return
        place = (self.scratch.u_peaks.base * size(Region.VEC)
                 + self.share.number * self.config.bus_bytes)
        bus = self.config.bus_bytes
        yield from self.mesh.send(Region.ROW, self.scratch.u_peak.base * size(Region.ROW), 1, bus,
                                  bus, remote=(Region.VEC, place))
        vector = size(Region.VEC)
        yield from self.mesh.send(Region.VEC, self._own_peaks * vector, 1, beats * vector,
                                  beats * vector, remote=(Region.VEC, target * vector))

    @property
    def _own_peaks(self) -> int:
        """VEC word of a single row's own hidden columns, before the peaks."""
        return self.scratch.u_peaks.base - self.tiles.hidden_beats

    @property
    def _single(self) -> bool:
        return self.scratch.length == 1

    @property
    def _first_beat(self) -> int:
        """Beat of the core's first hidden column in a row of all cores' columns."""
        return self.share.hidden[0] // self.config.lanes

    def _hidden_rows(self, block: Span) -> Fields:
        """All columns of a block's hidden rows as the source of a pass."""
        row = self.tiles.hidden_row
        return self.vectors(self.scratch.u.base, row, 0, block[1] - block[0]) | {
            "beats": row, "valid": self._hidden}

    @property
    def _hidden(self) -> int:
        """Hidden columns of all cores."""
        return self.model.layers[0].down.weight.shape[0]

    def _quantize(self, number: int) -> Iterator[Command]:
        """Hidden rows as INT8, and their scales."""
        scratch, block = self.scratch, self.blocks[number]
        source, words = self._hidden_rows(block), self.tiles.hidden_in
        for first, last in self._hidden_pieces:
            beat = first * self.config.rows // self.config.lanes
            part = {"source_base": scratch.u.base + beat,
                    "beats": (last - first) * self.config.rows // self.config.lanes,
                    "valid": self._hidden - first * self.config.rows}
            yield Pass(**source | part, **tensor(tensor_word(ROW_MAX)), row_scale=1,
                       row_read=scratch.u_inverse.base + block[0], output=Output.INT8,
                       sink=Sink.ACT, sink_base=self._u8(number) + first, sink_row_stride=words,
                       sink_tile_stride=1)
        yield Pass(**source, **tensor(tensor_word(1 << MAGNITUDE_BITS)), reduce=Reduce.ABSMAX,
                   scalar=Scalar.SCALE, row_write=scratch.u_scale.base + block[0])

    @property
    def _hidden_pieces(self) -> list[Span]:
        """Words of an INT8 row: first so few that the pass over the others is through when the
        array has multiplied them; of several cores, first the own ones."""
        words, tiles_out = self.tiles.hidden_in, self.tiles.down_out
        if not self.share.alone:
            rows = self.config.rows
            own = self.share.hidden[0] // rows, ceil_div(self.share.hidden[1], rows)
            return self.pieces(self.arriving(words, own), tiles_out)
        beats = self.config.rows // self.config.lanes
        first = next((count for count in range(1, words) if
                      max(PASS_CYCLES, count * beats) + (words - count) * beats
                      <= count * (beats + tiles_out)), words)
        return self.pieces([(0, first), (first, words)], tiles_out)

    def _u8(self, number: int) -> int:
        return self.scratch.u8.base + number % 2 * self.scratch.block * self.tiles.hidden_in

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
        left = {"act_base": self._u8(number), "count0": words, "act0_stride": 1,
                "count1": end - start, "act1_stride": words}
        columns = self.share.down
        if self.tiles.down_out:
            yield from self.product(f"down{index}", left, acc, self.tiles.down_stride,
                                    pieces=self._hidden_pieces)
        yield from self.grow(f"grow_feed_forward{index}", layer.grow_feed_forward, block, columns)
        yield from self.add(f"down{index}", acc, block, columns, everywhere=self.share.alone,
                            row_read=self.scratch.u_scale.base + start)
