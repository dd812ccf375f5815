"""Lowering of matrix products: commands in an order in which they could run one by one.

The order decides what runs side by side. Loads come before the stores that wait for results, so
the mover never holds up a load behind one; the result of a block of rows is stored under the
products of the next.
"""
from collections.abc import Iterator

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Output, Pass, Product, Scale, Sink, Store
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.fields import Span, accumulator_slot, accumulators
from systolith.sw.compiler.image import Image, Place
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.product_plan import ProductPlan, RowBlock
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
        yield from self._load_rows(blocks[0])
        for block in blocks:
            following = blocks[block.number + 1:block.number + 2]
            if block.number:
                yield from self._prefetch(blocks, block.number + 1)
                yield from self._store(blocks[block.number - 1])
            yield from self._block(block, ramp=not block.number, taper=not following)
            if not block.number:
                yield from self._prefetch(blocks, 1)

    def _prefetch(self, blocks: list[RowBlock], number: int) -> Iterator[Command]:
        """What block ``number`` takes that the one before did not."""
        if number < len(blocks):
            yield from self._load_rows(blocks[number])
            if blocks[number].item != blocks[number - 1].item:
                item = blocks[number].item
                yield from self._load_tiles(item, (0, self.plan.shape.nt))

    def _block(self, block: RowBlock, *, ramp: bool, taper: bool) -> Iterator[Command]:
        """All output tiles of a block of rows; the first weights and the last results are moved
        group by group. Where that is one block, results go after all weights, in few moves."""
        growth = self._growth(block) if ramp and self.plan.moves_b else 0
        groups = self.plan.groups(block, growth=growth, taper=taper)
        for group in groups:
            if ramp:
                yield from self._load_tiles(block.item, group)
            acc = accumulator_slot(self._count, self.plan.acc_words, self.plan.slots, self.config)
            self._count += 1
            yield from self._products(block, group, acc)
            yield self._drain(block, group, acc)
            if taper and not ramp:
                yield from self._store_group(block, group)
        if taper and ramp:
            last = groups[-1]
            for group in [(0, last[0]), last] if last[0] else [last]:
                yield from self._store_group(block, group)

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

    def _load_rows(self, block: RowBlock) -> Iterator[Command]:
        if self.plan.moves_a:
            kt = self.plan.shape.kt
            words = block.rows * kt
            yield from self._load(Buffer(Region.ACT, self._a_row(block), words),
                                  self._part(self._a, Region.ACT, block.start * kt, words))

    def _load_tiles(self, item: int, tiles: Span) -> Iterator[Command]:
        if self.plan.moves_b:
            weight = self.plan.weights[item]
            first, last = weight.offset(tiles[0]), weight.offset(tiles[1])
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

    def _products(self, block: RowBlock, group: Span, acc: int) -> Iterator[Command]:
        """A command for each run of the contraction of output tiles that have the same runs."""
        weight, base = self.plan.weights[block.item], self.plan.b[block.item].base
        kt, stride = self.plan.shape.kt, self._stride(group)
        for first, last in weight.segments(group):
            tile = base + weight.offset(first)
            for number, (start, end) in enumerate(weight.runs[first]):
                yield Product(
                    accumulate=int(number > 0), count0=end - start, act0_stride=1, wgt0_stride=1,
                    count1=block.rows, act1_stride=kt, acc1_stride=stride,
                    count2=last - first, wgt2_stride=weight.kept(first), acc2_stride=1,
                    act_base=self._a_row(block) + start, wgt_base=tile,
                    acc_base=acc + first - group[0])
                tile += end - start

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
