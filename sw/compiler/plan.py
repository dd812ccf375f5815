"""Sizes of an attention layer on a configuration, and where everything lies in the memories."""
from dataclasses import dataclass

from systolith.hw.config import Config, Region
from systolith.sw.compiler.allocate import Allocator, Buffer, check_capacity
from systolith.sw.compiler.layout import ceil_div, table_words

#: Blocks between the scores and the mixed values, the best first. Four hide the latency of the
#: softmax of short blocks, two need less memory. Even, so that both use one half of the
#: accumulators.
DEPTHS = (4, 2)


def most_slots(config: Config) -> int:
    """Blocks that half of the accumulators holds at most.

    Four hide all latency. Each block in flight is worth a token, so narrow semaphores allow fewer.
    """
    return max(1, min(4, ((1 << config.semaphore_width) - 1) // 4))


def default_block_rows(config: Config) -> int:
    """Rows of a block that products and passes alternate over.

    Longer blocks cost fewer commands and fences, shorter ones skip more of what a causal mask
    removes and start and end sooner. One tile of keys, and at least 8 rows, is the best of 8, 16
    and 32 on all named configurations.
    """
    return max(8, config.cols)


@dataclass(frozen=True)
class BlockRows:
    """Most rows of a block: of the projections, of scores and mixed values, of the output."""

    project: int
    attend: int
    output: int

    @classmethod
    def of(cls, rows: int) -> "BlockRows":
        """Blocks of so many rows; half of them for the output, whose last block nothing hides."""
        return cls(rows, rows, max(1, rows // 2))


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of a layer: T positions of which ``valid`` are keys, d width, H and K heads."""

    length: int
    valid: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    rotary: bool
    causal: bool

    @property
    def scores(self) -> int:
        """Scores of one head that are needed: of keys that exist and that the mask lets through."""
        if not self.causal:
            return self.length * self.valid
        return sum(min(self.valid, m + 1) for m in range(self.length))

    @property
    def attention_macs(self) -> int:
        """Useful multiply-accumulates of scores and mixed values."""
        return 2 * self.heads * self.head_dim * self.scores

    def keys(self, end: int) -> int:
        """Keys that rows before ``end`` see."""
        return min(self.valid, end) if self.causal else self.valid


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """A shape in tiles and beats.

    ``width_in``, ``head_in`` and ``keys_in`` are contraction tiles (``rows`` each) of d, hd and
    the keys; ``width_out``, ``head_out``, ``keys_out`` output tiles (``cols`` each). Beats hold
    ``lanes`` elements: ``head_beats`` fill whole activation words.
    """

    width_in: int
    width_out: int
    width_beats: int
    head_in: int
    head_out: int
    head_beats: int
    keys_in: int
    keys_out: int

    @classmethod
    def of(cls, shape: Shape, config: Config) -> "Tiles":
        """Tiles of a shape on a configuration."""
        d, hd, n = shape.width, shape.head_dim, shape.valid
        rows, cols, lanes = config.rows, config.cols, config.lanes
        head_in, keys_in = ceil_div(hd, rows), ceil_div(n, rows)
        return cls(
            width_in=ceil_div(d, rows), width_out=ceil_div(d, cols),
            width_beats=ceil_div(d, lanes), head_in=head_in, head_out=ceil_div(hd, cols),
            head_beats=head_in * rows // lanes, keys_in=keys_in, keys_out=ceil_div(n, cols))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Places of everything, in words, and the sizes of blocks.

    ``q`` holds the queries of all heads, and each block of them is overwritten by its mixed
    values: word ``(head * head_in + tile) * T + position``, so that all heads together are the
    contraction of the output product. ``p``, ``maxima`` and ``sums`` have ``depth`` buffers each:
    so many blocks are between the scores and the mixed values. ``*_stride`` are words of
    accumulators a row; half of the accumulators holds ``slots`` blocks of rows at most.
    """

    shape: Shape
    tiles: Tiles
    h: Buffer
    q: Buffer
    p: tuple[Buffer, ...]
    wq: tuple[Buffer, ...]
    wk: tuple[Buffer, ...]
    wv: tuple[Buffer, ...]
    wo: Buffer
    k: tuple[Buffer, ...]
    v: tuple[Buffer, ...]
    constants: Buffer
    rope: Buffer
    table: Buffer
    x: Buffer
    y: Buffer
    maxima: tuple[Buffer, ...]
    sums: tuple[Buffer, ...]
    head_stride: int
    score_stride: int
    project_rows: int
    block_rows: int
    depth: int
    out_rows: int
    out_tiles: int
    slots: int


def plan(shape: Shape, config: Config, what: str, rows: BlockRows | None = None) -> Plan:
    """Lay a layer out, in blocks of ``rows`` or the default where memories allow.

    Raises
    ------
    CapacityError
        When a memory is too small.
    """
    tiles, take = Tiles.of(shape, config), Allocator(config)
    rows = rows or BlockRows.of(default_block_rows(config))
    t, head_words = shape.length, tiles.width_in * tiles.head_out
    h = take.take(Region.ACT, t * tiles.width_in)
    q = take.take(Region.ACT, shape.heads * tiles.head_in * t)
    wk = take.several(shape.kv_heads, Region.WGT, head_words)
    wv = take.several(shape.kv_heads, Region.WGT, head_words)
    wq = take.several(shape.heads, Region.WGT, head_words)
    wo = take.take(Region.WGT, shape.heads * tiles.head_in * tiles.width_out)
    k = take.several(shape.kv_heads, Region.WGT, ceil_div(t, config.cols) * tiles.head_in)
    v = take.several(shape.kv_heads, Region.WGT, ceil_div(t, config.rows) * tiles.head_out)
    constants = take.take(Region.CONST, (shape.heads + 2 * shape.kv_heads) * tiles.head_beats
                          + tiles.width_beats)
    rope = take.take(Region.VEC, t * tiles.head_beats if shape.rotary else 0)
    table = take.take(Region.VEC, table_words(config))
    x = take.take(Region.VEC, t * tiles.width_beats)
    y = take.take(Region.VEC, t * tiles.width_beats)
    # A pass reads accumulators up to the end of the sink's last word, so that much is set aside.
    head_stride = ceil_div(tiles.head_in * config.rows, config.cols)
    score_stride = ceil_div(tiles.keys_in * config.rows, config.cols)
    slot = score_stride + head_stride
    block, depth = _block(min(t, rows.attend), slot, tiles.keys_in, take)
    p = take.several(depth, Region.ACT, block * tiles.keys_in)
    maxima = take.several(depth, Region.ROW, block)
    sums = take.several(depth, Region.ROW, block)
    take.check(what)
    check_capacity(config, Region.ACC, depth * block * slot, what)
    out_tiles = min(tiles.width_out, config.acc_half)
    return Plan(
        shape=shape, tiles=tiles, h=h, q=q, p=p, wq=wq, wk=wk, wv=wv, wo=wo, k=k, v=v,
        constants=constants, rope=rope, table=table, x=x, y=y, maxima=maxima, sums=sums,
        head_stride=head_stride, score_stride=score_stride, block_rows=block, depth=depth,
        project_rows=max(1, min(t, rows.project, config.acc_half // head_stride)),
        out_rows=max(1, min(t, rows.output, config.acc_half // out_tiles)), out_tiles=out_tiles,
        slots=most_slots(config))


def _block(wanted: int, slot: int, keys_in: int, take: Allocator) -> tuple[int, int]:
    """(rows of a block, blocks between scores and mixed values) that fit what is left.

    ``slot`` accumulators and ``keys_in`` activation words a row. At least 1 row, fit or not.
    """
    config = take.config
    depths = [depth for depth in DEPTHS if depth <= 2 * most_slots(config)]
    rows = {depth: min(wanted, config.acc_half // (depth // 2 * slot),
                       take.free(Region.ROW) // (2 * depth),
                       take.free(Region.ACT) // (depth * keys_in)) for depth in depths}
    depth = next((depth for depth in depths if rows[depth] == wanted), depths[-1])
    return max(1, rows[depth]), depth
