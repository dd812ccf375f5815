"""What every part of a decoder's lowering does with blocks of rows."""
from collections.abc import Iterator, Sequence

from systolith.hw.config import Config, Region
from systolith.hw.isa import (
    Combine,
    Command,
    Output,
    Pass,
    Product,
    Reduce,
    Scalar,
    Scale,
    Sink,
    Source,
)
from systolith.sw.compiler.fields import Fields, Span, accumulators, spans, tensor
from systolith.sw.compiler.gather import MEET, Gather
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.zero_tiles import COMMAND_CYCLES
from systolith.sw.decoder.plan import Scratch, Tiles
from systolith.sw.decoder.residents import Residents
from systolith.sw.decoder.share import Share
from systolith.sw.decoder.weights import Chunk, Weights
from systolith.sw.reference.decoder import LENGTH_BITS
from systolith.sw.reference.numerics import Ints
from systolith.sw.reference.quantized_decoder import Columns, QuantizedDecoder
from systolith.sw.reference.rows import ROW_MAX, tensor_word

#: Cycles of the shortest product of a piece that waits for other cores.
SHORT_CYCLES = COMMAND_CYCLES // 2


class RowLowering:
    """Places and sizes of a run, and the commands that several parts share.

    Parameters
    ----------
    model : QuantizedDecoder
    residents, scratch
        All places but those of weights.
    weights : Weights
    position : int
        Positions that the cache holds already.
    config : Config
    share : Share
        The part of the whole decoder that ``model`` is.
    """

    def __init__(self, model: QuantizedDecoder, residents: Residents, scratch: Scratch,
                 weights: Weights, position: int, config: Config, share: Share):
        self.model, self.residents, self.scratch = model, residents, scratch
        self.weights, self.position, self.config = weights, position, config
        self.share, self.mesh = share, Gather(config, share.number)
        self.tiles = Tiles.of(model, config)
        self.blocks = spans(scratch.length, scratch.block)
        self.group = max(1, model.heads // max(1, model.kv_heads))

    @property
    def heads_together(self) -> int:
        """Query heads of a single position that are attended together: those that share keys, but
        each by itself where its product takes longer than a command. Then one is drained while the
        array multiplies the next."""
        beats = self.tiles.head_in * ceil_div(self.position + 1, self.config.cols)
        return self.group if beats < COMMAND_CYCLES else 1

    def queries(self, head: int) -> int:
        """First ACT word of a head's queries and mixed values; heads of all cores lie in order."""
        return (self.scratch.q.base
                + (self.share.heads[0] + head) * self.tiles.head_in * self.scratch.length)

    def residual(self, start: int, end: int) -> Fields:
        """Rows of the residual as the source of a pass."""
        return self.vectors(self.scratch.x.base, self.tiles.width_beats, start, end) | {
            "valid": self.model.width}

    @staticmethod
    def vectors(base: int, beats: int, start: int, end: int) -> Fields:
        """Rows of vector memory, ``beats`` words each, as the source of a pass."""
        return {"source": Source.VEC, "source_base": base + start * beats, "rows": end - start,
                "source_row_stride": beats, "source_tile_stride": 1}

    def norm(self, name: str, columns: Columns | None, block: Span) -> Iterator[Command]:
        """The residual as INT8 rows, and the rows' scales for the drains that follow.

        Without ``columns``, who wrote the residual has measured its rows.
        """
        (start, end), scratch, tiles = block, self.scratch, self.tiles
        source, row = self.residual(start, end), {
            "row_scale": 1, "row_read": scratch.inverse.base + start}
        smooth: int | Ints = tensor_word(ROW_MAX)
        length: int | Ints = tensor_word(1 << LENGTH_BITS)
        if columns is not None:
            measure, loads = self.factor(f"{name} measure", columns.measure)
            yield from loads
            yield Pass(**source, **measure, **self.measured(start), beats=tiles.width_beats)
            smooth, length = columns.smooth, columns.length
        factor, loads = self.factor(f"{name} smooth", smooth)
        yield from loads
        yield Pass(**source, **row, **factor, beats=tiles.width_beats, output=Output.INT8,
                   sink=Sink.ACT, sink_base=scratch.h.base + start * tiles.width_in,
                   sink_row_stride=tiles.width_in, sink_tile_stride=1)
        factor, loads = self.factor(f"{name} length", length)
        yield from loads
        yield Pass(**source, **row, **factor, beats=ceil_div(self.model.width, self.config.lanes),
                   combine=Combine.SQUARE, reduce=Reduce.SUM, scalar=Scalar.INVERSE_ROOT,
                   row_write=scratch.lengths.base + start)

    def measured(self, start: int) -> Fields:
        """A pass that finds what rows of the residual from ``start`` on are to be divided by."""
        return {"reduce": Reduce.ABSMAX, "scalar": Scalar.RECIPROCAL,
                "row_write": self.scratch.inverse.base + start}

    def factor(self, name: str, words: int | Ints, beats: Span | None = None
               ) -> tuple[Fields, tuple[Command, ...]]:
        """A scale of all elements, or of each column of some ``beats``, whose constants have that
        ``name``; and what must have run before."""
        if isinstance(words, int):
            return tensor(words), ()
        first, last = beats or (0, None)
        constants, loads = self.weights.constants(name, first, last and last - first)
        return {"scale": Scale.COLUMN, "const_base": constants}, loads

    def left(self, block: Span) -> Fields:
        """Rows of ``h`` as the left operand of a product."""
        start, end = block
        words = self.tiles.width_in
        return {"act_base": self.scratch.h.base + start * words, "count0": words, "act0_stride": 1,
                "count1": end - start, "act1_stride": words}

    def product(self, name: str, left: Fields, acc: int, stride: int, *,
                most: int | None = None, pieces: Sequence[Span] = ()) -> Iterator[Command]:
        """Rows times the weights of a linear layer, ``most`` output tiles a command, after their
        loads; in ``pieces`` of the contraction, for a left operand that comes in pieces."""
        for chunk in self.weights.chunks(name, most):
            yield from chunk.loads
            yield from self.chunk_product(chunk, left, acc + chunk.first, stride, pieces)

    def pieces(self, cuts: Sequence[Span], tiles_out: int) -> list[Span]:
        """The contraction of a single row in pieces, so that the array begins with the first while
        the others are on their way.

        In one piece where it does not pay: more rows have other work meanwhile, streamed weights
        come later than any row, and a product of few output tiles takes as long as its command.
        What comes from other cores is worth a command that is a little short.
        """
        shortest = min(last - first for first, last in cuts) * tiles_out
        least = COMMAND_CYCLES if self.share.alone else SHORT_CYCLES
        if self.scratch.length > 1 or self.residents.streamed or shortest < least:
            return [(0, max(last for _, last in cuts))]
        return list(cuts)

    def arriving(self, words: int, own: Span) -> list[Span]:
        """A contraction of ``words``, of which other cores send all but the ``own``: those first,
        then what lies before and after."""
        spans = own, (0, own[0]), (own[1], words)
        return [span for span in spans if span[0] < span[1]]

    @staticmethod
    def chunk_product(chunk: Chunk, left: Fields, acc: int, stride: int,
                      pieces: Sequence[Span] = ()) -> Iterator[Command]:
        """Rows times some output tiles of weights, to accumulators from word ``acc`` on."""
        words = left["count0"]
        for number, (first, last) in enumerate(pieces or [(0, words)]):
            part = {"count0": last - first,
                    "act_base": left["act_base"] + first * left["act0_stride"]}
            yield Product(**left | part, wgt0_stride=1, acc1_stride=stride,
                          count2=chunk.last - chunk.first, wgt2_stride=words, acc2_stride=1,
                          wgt_base=chunk.base + first, acc_base=acc, accumulate=int(number > 0))

    def drain(self, acc: int, stride: int, beats: int, constants: int, block: Span) -> Fields:
        """Accumulators times the column's and the row's scale."""
        start, end = block
        return {**accumulators(acc, stride), "rows": end - start, "beats": beats,
                "scale": Scale.COLUMN, "const_base": constants, "row_scale": 1,
                "row_read": self.scratch.lengths.base + start}

    def grow(self, name: str, words: int | Ints | None, block: Span, columns: Span
             ) -> Iterator[Command]:
        """Some ``columns`` of the residual in larger units; nothing where ``words`` is None."""
        if words is not None and columns[0] < columns[1]:
            beats = self.beats(columns)
            factor, loads = self.factor(name, words, beats)
            yield from loads
            source = self.residual(*block)
            source |= {"source_base": source["source_base"] + beats[0],
                       "valid": columns[1] - columns[0]}
            yield Pass(**source, **factor, **self.residual_sink(block[0], beats))

    def beats(self, columns: Span) -> Span:
        """Beats of the residual that hold some columns, whole words of them at the row's end."""
        first = columns[0] // self.config.lanes
        if columns[1] == self.model.width and first == 0:
            return 0, self.tiles.width_beats
        return first, ceil_div(columns[1], self.config.lanes)

    def residual_sink(self, start: int, beats: Span) -> Fields:
        """Beats of the residual's rows from ``start`` on as the sink of a pass."""
        row = self.tiles.width_beats
        return {"beats": beats[1] - beats[0], "output": Output.INT16, "sink": Sink.VEC,
                "sink_row_stride": row, "sink_tile_stride": 1,
                "sink_base": self.scratch.x.base + start * row + beats[0]}

    def add(self, name: str, acc: int, block: Span, columns: Span, *, everywhere: bool,
            **row: int) -> Iterator[Command]:
        """A drain that adds to some columns of the residual, ``row_read`` scales its rows; and what
        measures the rows, where the next norm does not.

        Columns that are not ``everywhere`` go to the other cores, and theirs come.
        """
        yield from self._add(name, acc, block, columns, measured=everywhere, **row)
        if everywhere:
            return
        first, last = self.beats(columns)
        if first < last:
            yield from self.mesh.rows(Region.VEC, self.scratch.x.base + first, last - first, block,
                                      self.tiles.width_beats)
        yield MEET
        if not self.model.columned:
            yield Pass(**self.residual(*block), **self.measured(block[0]),
                       beats=self.tiles.width_beats)

    def _add(self, name: str, acc: int, block: Span, columns: Span, *, measured: bool,
             **row: int) -> Iterator[Command]:
        if columns[0] == columns[1]:
            return
        (start, end), beats = block, self.beats(columns)
        sink = self.residual_sink(start, beats)
        constants, loads = self.weights.constants(name)
        yield from loads
        stride = ceil_div(sink["beats"] * self.config.lanes, self.config.cols)
        yield Pass(
            **accumulators(acc, stride), **sink, **row, row_scale=len(row),
            rows=end - start, valid=columns[1] - columns[0], scale=Scale.COLUMN,
            const_base=constants, combine=Combine.ADD, stream_base=sink["sink_base"],
            stream_row_stride=sink["sink_row_stride"],
            **self.measured(start) if measured and not self.model.columned else {})
