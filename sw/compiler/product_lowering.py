"""Lowering of matrix products: commands in an order in which they could run one by one.

The order decides what runs side by side. Loads come before the stores that wait for results, so
the mover never holds up a load behind one; the result of a block of rows is stored under the
products of the next.
"""
from collections.abc import Iterator

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Load, Output, Pass, Product, Scale, Sink, Store
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.fields import Span, accumulator_slot, accumulators, spans
from systolith.sw.compiler.image import Image, Place
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.product_plan import FIRST, PIECES, ProductPlan, RowBlock
from systolith.sw.compiler.zero_tiles import COMMAND_CYCLES, segments
from systolith.sw.reference import numerics


class ProductLowering:
    """Writes the commands of the products of one plan.

    Parameters
    ----------
    plan : ProductPlan
    image : Image
        Makes the moves.
    a, out : Place
        Left operands and results in external memory, where these are moved.
    b : sequence of Place
        Right operands.
    word : int
        Scale word of the results.
    config : Config
    """

    def __init__(self, plan: ProductPlan, image: Image, a: Place, b: tuple[Place, ...], out: Place,
                 word: int, config: Config):
        self.plan, self.image, self.config = plan, image, config
        self._a, self._b, self._out = a, b, out
        self._scale = numerics.split_scale(word)
        self._count = 0

    def commands(self) -> Iterator[Command]:
        """All products."""
        blocks = self.plan.blocks()
        yield from self._first_block(blocks[0], taper=len(blocks) == 1)
        yield from self._prefetch(blocks, 1)
        for block in blocks[1:]:
            yield from self._prefetch(blocks, block.number + 1)
            yield from self._store(blocks[block.number - 1])
            taper = block is blocks[-1]
            for group in self.plan.groups(block, growth=0, taper=taper):
                acc = self._next_slot()
                yield from self._products(block, group, acc, self._whole)
                yield self._drain(block, group, acc)
                if taper:
                    yield from self._store_group(block, group)

    def _prefetch(self, blocks: list[RowBlock], number: int) -> Iterator[Command]:
        """What block ``number`` takes that the one before did not."""
        if number < len(blocks):
            yield from self._load_rows(blocks[number], self._whole)
            if blocks[number].item != blocks[number - 1].item:
                item = blocks[number].item
                yield from self._load_tiles(item, (0, self.plan.shape.nt), self._whole)

    def _first_block(self, block: RowBlock, *, taper: bool) -> Iterator[Command]:
        """The block in which weights arrive, and follow each other group by group. Where it is the
        only one, results go after all weights, in few moves."""
        growth = self._growth(block) if self.plan.moves_b else 0
        groups = self.plan.groups(block, growth=growth, taper=taper)
        for number, group in enumerate(groups):
            acc = self._next_slot()
            for piece in self._pieces(number, group, growth):
                # Weights first: they take longer than the fetch of the next load.
                yield from self._load_tiles(block.item, group, piece)
                if not number:
                    yield from self._load_rows(block, piece)
                yield from self._products(block, group, acc, piece)
            yield self._drain(block, group, acc)
        if taper:
            last = groups[-1]
            for group in [(0, last[0]), last] if last[0] else [last]:
                yield from self._store_group(block, group)

    @property
    def _whole(self) -> Span:
        """The whole contraction."""
        return 0, self.plan.shape.kt

    def _pieces(self, number: int, group: Span, growth: float) -> list[Span]:
        """Pieces of the contraction that are loaded and multiplied one by one: at the start, where
        the array is faster with a piece than the bus. Weights of a piece must lie side by side."""
        kt, plan = self.plan.shape.kt, self.plan
        early = number < FIRST - 1 and growth > 1 and group[1] - group[0] == 1
        if early or (number == 0 and plan.moves_a and not plan.moves_b):
            least = ceil_div(COMMAND_CYCLES, plan.block_rows)
            return spans(kt, max(least, ceil_div(kt, PIECES)))
        return [self._whole]

    def _next_slot(self) -> int:
        """First accumulator of the next group."""
        self._count += 1
        return accumulator_slot(self._count, self.plan.acc_words, self.plan.slots, self.config)

    def _growth(self, block: RowBlock) -> float:
        """Cycles of the array over those of the bus for a weight tile."""
        return block.rows * self.config.bus_bytes / self.config.word_bytes(Region.WGT)

    # Places ----------------------------------------------------------------------------------

    def _row(self, buffer: Buffer, words: int, block: RowBlock, moved: bool) -> int:
        """First word of a block's rows of ``words`` words each."""
        rows = buffer.words // words
        size = self.plan.block_rows
        start = block.number % (rows // size) * size if moved else block.start
        return buffer.base + start * words

    def _a_row(self, block: RowBlock) -> int:
        return self._row(self.plan.a, self.plan.shape.kt, block, self.plan.moves_a)

    def _out_row(self, block: RowBlock) -> int:
        return self._row(self.plan.out, self.plan.out_words, block, self.plan.moves_out)

    def _part(self, place: Place, region: Region, start: int, words: int) -> Place:
        size = self.config.word_bytes(region)
        return Place(place.memory, place.offset + start * size, words * size)

    # Moves -----------------------------------------------------------------------------------

    def _load_rows(self, block: RowBlock, piece: Span) -> Iterator[Command]:
        """A piece of the contraction of a block's rows."""
        if self.plan.moves_a:
            kt, size = self.plan.shape.kt, self.config.word_bytes(Region.ACT)
            words = piece[1] - piece[0]
            if words == kt:
                yield from self._load(
                    Buffer(Region.ACT, self._a_row(block), block.rows * kt),
                    self._part(self._a, Region.ACT, block.start * kt, block.rows * kt))
                return
            yield Load(
                region=Region.ACT, rows=block.rows, row_bytes=words * size,
                ext_base=self._a.offset + (block.start * kt + piece[0]) * size,
                ext_stride=kt * size, base=(self._a_row(block) + piece[0]) * size,
                stride=kt * size)

    def _load_tiles(self, item: int, tiles: Span, piece: Span) -> Iterator[Command]:
        """A piece of the contraction of output tiles: one tile, or the whole contraction."""
        if self.plan.moves_b:
            weight = self.plan.weights[item]
            first, last = weight.place(tiles[0], piece[0]), weight.place(tiles[1] - 1, piece[1])
            if first < last:
                yield from self._load(
                    Buffer(Region.WGT, self.plan.b[item].base + first, last - first),
                    self._part(self._b[item], Region.WGT, first, last - first))

    def _load(self, buffer: Buffer, place: Place) -> Iterator[Command]:
        self.image.load(buffer, place, 0, buffer.words)
        loads, self.image.loads = self.image.loads, []
        yield from loads

    def _store(self, block: RowBlock) -> Iterator[Command]:
        if self.plan.moves_out:
            words = self.plan.out_words
            buffer = Buffer(Region.VEC, self._out_row(block), block.rows * words)
            yield from self.image.store(buffer, self._part(
                self._out, Region.VEC, block.start * words, buffer.words), 0, buffer.words)

    def _store_group(self, block: RowBlock, group: Span) -> Iterator[Command]:
        if self.plan.moves_out:
            words, size = self.plan.out_words, self.config.word_bytes(Region.VEC)
            first = self._first_word(group)
            yield Store(
                region=Region.VEC, rows=block.rows, row_bytes=self._words(group) * size,
                ext_base=self._out.offset + (block.start * words + first) * size,
                ext_stride=words * size, base=(self._out_row(block) + first) * size,
                stride=words * size)

    # Products and drains ---------------------------------------------------------------------

    @property
    def _granule(self) -> int:
        """Elements of a word of the result."""
        return self.config.lanes if self.plan.moves_out else self.config.rows

    def _first_word(self, group: Span) -> int:
        """Word of a row of the result in which a group begins."""
        return group[0] * self.config.cols // self._granule

    def _columns(self, group: Span) -> int:
        cols = self.config.cols
        return min(group[1] * cols, self.plan.shape.n) - group[0] * cols

    def _words(self, group: Span) -> int:
        return ceil_div(self._columns(group), self._granule)

    def _stride(self, group: Span) -> int:
        """Accumulators of a row: a pass reads up to the end of the sink's last word."""
        return ceil_div(self._words(group) * self._granule, self.config.cols)

    def _products(self, block: RowBlock, group: Span, acc: int, piece: Span
                  ) -> Iterator[Command]:
        """A command for each run of the contraction of output tiles that have the same runs."""
        weight, base = self.plan.weights[block.item], self.plan.b[block.item].base
        kt, stride = self.plan.shape.kt, self._stride(group)
        for first, last in segments(weight.runs, group):
            for start, end in weight.runs_in(first, piece):
                yield Product(
                    accumulate=int(start > weight.runs[first][0][0]), count0=end - start,
                    act0_stride=1, wgt0_stride=1, count1=block.rows, act1_stride=kt,
                    acc1_stride=stride, count2=last - first, wgt2_stride=weight.kept(first),
                    acc2_stride=1, act_base=self._a_row(block) + start,
                    wgt_base=base + weight.place(first, start), acc_base=acc + first - group[0])

    def _drain(self, block: RowBlock, group: Span, acc: int) -> Command:
        """Requantize: to INT8 for the next product, or to INT16 where the result leaves."""
        multiplier, shift = self._scale
        sink = ({"output": Output.INT16, "sink": Sink.VEC} if self.plan.moves_out
                else {"output": Output.INT8, "sink": Sink.ACT})
        return Pass(
            **accumulators(acc, self._stride(group)), **sink, rows=block.rows,
            beats=self._words(group) * self._granule // self.config.lanes,
            valid=self._columns(group), scale=Scale.TENSOR, multiplier=int(multiplier),
            shift=int(shift), sink_base=self._out_row(block) + self._first_word(group),
            sink_row_stride=self.plan.out_words, sink_tile_stride=1)
