"""Lowering of hidden rows: collected from all cores, measured, and made INT8."""
from collections.abc import Iterator

from systolith.hw.config import Region
from systolith.hw.isa import WORDS, Command, Engine, Output, Pass, Reduce, Scalar, Scale, Sink
from systolith.sw.compiler.fields import Fields, Span, tensor
from systolith.sw.compiler.gather import MEET
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.decoder.rows import RowLowering
from systolith.sw.reference.rows import MAGNITUDE_BITS, ROW_MAX, tensor_word

#: Cycles from the start of a short pass to that of the next: one to fetch each word, one to take
#: semaphores, one until the vector unit takes it.
PASS_CYCLES = WORDS[Engine.VECTOR] + 2


class HiddenLowering(RowLowering):
    """What happens to hidden rows between the two halves of the feed-forward network."""

    def measured_hidden(self, block: Span) -> Fields:
        """A pass that finds what hidden rows are to be divided by."""
        return {"reduce": Reduce.ABSMAX, "scalar": Scalar.RECIPROCAL,
                "row_write": self.scratch.u_inverse.base + block[0]}

    def collect(self, block: Span) -> Iterator[Command]:
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
        if not self.single:
            yield Pass(**self._hidden_rows(block), **self.measured_hidden(block))
            return
        beats = self.weights.sizes["peaks"].beats
        constants, loads = self.weights.constants("peaks")
        yield from loads
        yield Pass(**self.vectors(self.own_peaks, beats, 0, 1), scale=Scale.COLUMN,
                   const_base=constants, beats=beats, valid=beats * self.config.lanes,
                   **self.measured_hidden(block))

    def _send_hidden(self, block: Span) -> Iterator[Command]:
        """The own hidden columns to the other cores; of a single row their magnitude before them.

        A magnitude is INT32. Its lower half is read as INT16, the other has a factor of zero.
        """
        row, beats, size = self.tiles.hidden_row, self.tiles.hidden_beats, self.config.word_bytes
        target = self.scratch.u.base + self.first_beat
        if not self.single:
            yield from self.mesh.rows(Region.VEC, target, beats, (0, block[1] - block[0]), row)
            return
        place = (self.scratch.u_peaks.base * size(Region.VEC)
                 + self.share.number * self.config.bus_bytes)
        bus = self.config.bus_bytes
        yield from self.mesh.send(Region.ROW, self.scratch.u_peak.base * size(Region.ROW), 1, bus,
                                  bus, remote=(Region.VEC, place))
        vector = size(Region.VEC)
        yield from self.mesh.send(Region.VEC, self.own_peaks * vector, 1, beats * vector,
                                  beats * vector, remote=(Region.VEC, target * vector))

    @property
    def own_peaks(self) -> int:
        """VEC word of a single row's own hidden columns, before the peaks."""
        return self.scratch.u_peaks.base - self.tiles.hidden_beats

    @property
    def single(self) -> bool:
        """Whether a run has one row."""
        return self.scratch.length == 1

    @property
    def first_beat(self) -> int:
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

    def quantize(self, number: int) -> Iterator[Command]:
        """Hidden rows as INT8, and their scales."""
        scratch, block = self.scratch, self.blocks[number]
        source, words = self._hidden_rows(block), self.tiles.hidden_in
        for first, last in self.hidden_pieces:
            beat = first * self.config.rows // self.config.lanes
            part = {"source_base": scratch.u.base + beat,
                    "beats": (last - first) * self.config.rows // self.config.lanes,
                    "valid": self._hidden - first * self.config.rows}
            yield Pass(**source | part, **tensor(tensor_word(ROW_MAX)), row_scale=1,
                       row_read=scratch.u_inverse.base + block[0], output=Output.INT8,
                       sink=Sink.ACT, sink_base=self.u8_word(number) + first, sink_row_stride=words,
                       sink_tile_stride=1)
        yield Pass(**source, **tensor(tensor_word(1 << MAGNITUDE_BITS)), reduce=Reduce.ABSMAX,
                   scalar=Scalar.SCALE, row_write=scratch.u_scale.base + block[0])

    @property
    def hidden_pieces(self) -> list[Span]:
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

    def u8_word(self, number: int) -> int:
        """First activation word of a block's INT8 rows."""
        return self.scratch.u8.base + number % 2 * self.scratch.block * self.tiles.hidden_in
