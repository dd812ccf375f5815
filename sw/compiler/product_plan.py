"""Sizes of a matrix product on a configuration: what stays in the core, blocks, and places."""
from dataclasses import dataclass

from systolith.hw.config import Config, Region
from systolith.sw.compiler.allocate import Allocator, Buffer, CapacityError, check_capacity
from systolith.sw.compiler.fields import Span, spans
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.plan import most_slots
from systolith.sw.compiler.zero_tiles import COMMAND_CYCLES, SparseWeight, sparse_weight
from systolith.sw.reference.numerics import Ints

#: Most rows of a block. So many rows multiply a weight tile while the bus brings two more.
BLOCK_ROWS = 32

#: Blocks of rows that moves may be ahead or behind.
BUFFERS = 2

#: Pieces of the contraction at the start, when the array follows the loads.
PIECES = 8

#: Commands at the start, with few tiles each, until weights are ahead of the array.
FIRST = 3


@dataclass(frozen=True, kw_only=True)
class ProductShape:
    """Sizes: ``batch`` products of (m, k) and (k, n).

    ``kt`` and ``nt`` are tiles of the contraction and of the outputs.
    """

    m: int
    k: int
    n: int
    batch: int
    kt: int
    nt: int

    @classmethod
    def of(cls, config: Config, m: int, k: int, n: int, batch: int) -> "ProductShape":
        """The sizes on a configuration."""
        return cls(m=m, k=k, n=n, batch=batch, kt=ceil_div(k, config.rows),
                   nt=ceil_div(n, config.cols))


@dataclass(frozen=True)
class RowBlock:
    """Rows ``start`` to ``end`` of all products' rows, which belong to the product ``item``."""

    number: int
    item: int
    start: int
    end: int

    @property
    def rows(self) -> int:
        """Rows of the block."""
        return self.end - self.start


@dataclass(frozen=True, kw_only=True)
class ProductPlan:
    """Places in words. ``a`` and ``out`` hold all rows, or ``BUFFERS`` blocks of rows where these
    go through external memory. A result that stays is INT8 in activation memory, the left operand
    of the next product; one that leaves is INT16 in vector memory, for the array takes all reads
    of activation memory. ``out_words`` are words of a row of it, which output tiles fill in groups
    of ``whole``. ``tiles`` output tiles are one command at most, and half of the accumulators holds
    ``slots`` such groups of ``acc_words`` words.
    """

    shape: ProductShape
    weights: tuple[SparseWeight, ...]
    moves_a: bool
    moves_b: bool
    moves_out: bool
    a: Buffer
    b: tuple[Buffer, ...]
    out: Buffer
    out_words: int
    whole: int
    block_rows: int
    tiles: int
    acc_words: int
    slots: int

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates: no padding, and no weight tiles of zeros."""
        return self.shape.m * sum(weight.elements for weight in self.weights)

    def blocks(self) -> list[RowBlock]:
        """The blocks of rows of all products, in order."""
        parts = [(item, item * self.shape.m + start, item * self.shape.m + end)
                 for item in range(self.shape.batch)
                 for start, end in spans(self.shape.m, self.block_rows)]
        return [RowBlock(number, *part) for number, part in enumerate(parts)]

    def groups(self, block: RowBlock, *, growth: float, taper: bool) -> list[Span]:
        """Output tiles of each command of a block.

        Parameters
        ----------
        growth : float
            How many times as many tiles the next command may have, where the weights arrive only
            now: those of a command must be there when the one before ends. The first ones have the
            fewest, for the array follows their loads. 0: weights are there.
        taper : bool
            End with few tiles, for nothing hides the last drain.
        """
        whole, kt = self.whole, self.shape.kt
        least = ceil_div(COMMAND_CYCLES, block.rows * kt)
        units, most = ceil_div(self.shape.nt, whole), max(1, self.tiles // whole)
        sizes, left, size = [], units, least if growth else most
        while left:
            size = min(size, most, left, max(least, left // 2) if taper else left)
            sizes.append(size)
            left -= size
            if len(sizes) >= FIRST or not growth:
                size = max(size, int(size * growth)) if growth else most
        ends = [sum(sizes[:i + 1]) * whole for i in range(len(sizes))]
        return [(end - size * whole, min(end, self.shape.nt))
                for end, size in zip(ends, sizes, strict=True)]


def plan_product(config: Config, shape: ProductShape, weights: Ints, *, resident: bool,
                 what: str) -> ProductPlan:
    """Lay products out. ``resident``: operands and result stay in the core as far as they fit, the
    result first to leave it.

    Raises
    ------
    CapacityError
        When a memory is too small.
    """
    choices = [(False, False), (False, True), (True, True)] if resident else [(True, True)]
    if not config.ext_bytes:
        choices = choices[:1]
    for moves_a, moves_out in choices:
        for rows in _block_rows(shape):
            try:
                return _place(config, shape, weights, rows, moves_a, not resident, moves_out, what)
            except CapacityError as found:
                error = found
    raise error


def _block_rows(shape: ProductShape) -> list[int]:
    """Rows of a block to try, the best first: equal blocks of at most :data:`BLOCK_ROWS` rows, and
    each time half as many."""
    rows = [ceil_div(shape.m, ceil_div(shape.m, BLOCK_ROWS))]
    while rows[-1] > 1:
        rows.append(ceil_div(rows[-1], 2))
    return rows


def _place(config: Config, shape: ProductShape, weights: Ints, rows: int, moves_a: bool,
           moves_b: bool, moves_out: bool, what: str) -> ProductPlan:
    take, total = Allocator(config), shape.batch * shape.m
    buffered = rows * min(BUFFERS, shape.batch * ceil_div(shape.m, rows))
    a = take.take(Region.ACT, (buffered if moves_a else total) * shape.kt)
    out_words = ceil_div(shape.n, config.lanes if moves_out else config.rows)
    out = (take.take(Region.VEC, buffered * out_words) if moves_out
           else take.take(Region.ACT, total * out_words))
    sparse = tuple(sparse_weight(weight, config, rows) for weight in weights)
    b = tuple(take.take(Region.WGT, each.words) for each in sparse)
    take.check(what)
    # Groups fill whole words of activation memory, and a pass reads up to the end of a word.
    whole = 1 if moves_out else max(1, config.rows // config.cols)
    slots = most_slots(config)
    tiles = max(whole, min(shape.nt, config.acc_half // (slots * rows)) // whole * whole)
    acc_words = rows * tiles
    check_capacity(config, Region.ACC, 2 * acc_words, what)
    return ProductPlan(
        shape=shape, weights=sparse, moves_a=moves_a, moves_b=moves_b, moves_out=moves_out, a=a,
        b=b, out=out, out_words=out_words, whole=whole, block_rows=rows, tiles=tiles,
        acc_words=acc_words, slots=max(1, min(slots, config.acc_half // acc_words)))
