"""Sizes of an encoder on a configuration, and where everything lies in the memories."""
import dataclasses
from dataclasses import dataclass
from typing import Any

from systolith.hw.config import Config, Region
from systolith.sw.compiler.allocate import Allocator, Buffer, check_capacity
from systolith.sw.compiler.layout import ceil_div, table_words
from systolith.sw.compiler.plan import DEPTHS, default_block_rows
from systolith.sw.reference.encoder import QuantizedEncoder

#: Buffers by name.
Places = dict[str, Any]

#: Function table of GELU's normal distribution.
GELU_TABLE = 1

#: Weights of so many products must be in the core at once: queries, keys and values.
LEAST_SLOTS = 3

#: More slots than the products of one layer and a half bring nothing.
MOST_SLOTS = 16


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """An encoder in tiles and beats.

    ``*_in`` are contraction tiles (``rows`` each), ``*_out`` output tiles (``cols`` each),
    ``*_beats`` beats of ``lanes`` elements that fill whole activation words. Heads are padded to
    whole tiles and lie side by side. ``*_stride`` are words of accumulators that a pass over a row
    reads. Positions come in units of ``unit`` elements, ``units`` a row, each the upper bytes, then
    the lower ones; ``unit_in`` and ``unit_out`` are the tiles of one.
    """

    width_in: int
    width_out: int
    width_beats: int
    width_stride: int
    heads: int
    head_in: int
    head_out: int
    query_beats: int
    query_stride: int
    value_beats: int
    value_stride: int
    group_in: int
    group_out: int
    group_beats: int
    group_stride: int
    unit: int
    units: int
    unit_in: int
    unit_out: int

    @classmethod
    def of(cls, model: QuantizedEncoder, config: Config, heads: int | None = None) -> "Tiles":
        """Tiles of a model on a configuration, with so many of its heads; all for None."""
        heads = model.heads if heads is None else heads
        rows, cols, lanes = config.rows, config.cols, config.lanes
        width_in, group_in = ceil_div(model.width, rows), ceil_div(model.group, rows)
        head_in, head_out = ceil_div(model.head_dim, rows), ceil_div(model.head_dim, cols)
        queries, unit = heads * head_in * rows, max(rows, cols)
        return cls(
            width_in=width_in, width_out=ceil_div(model.width, cols),
            width_beats=width_in * rows // lanes, width_stride=ceil_div(width_in * rows, cols),
            heads=heads, head_in=head_in, head_out=head_out, query_beats=queries // lanes,
            query_stride=ceil_div(queries, cols),
            value_beats=heads * head_out * cols // lanes, value_stride=heads * head_out,
            group_in=group_in, group_out=ceil_div(model.group, cols),
            group_beats=group_in * rows // lanes,
            group_stride=ceil_div(group_in * rows, cols), unit=unit,
            units=ceil_div(model.width, unit), unit_in=unit // rows, unit_out=unit // cols)

    @property
    def widest(self) -> int:
        """Words of accumulators of a row of the widest product."""
        return max(self.width_stride, self.query_stride, self.value_stride, self.group_stride,
                   self.position_stride)

    @property
    def position_stride(self) -> int:
        """Words of accumulators of a row of positions."""
        return self.units * self.unit_out


@dataclass(frozen=True, kw_only=True)
class Slot:
    """Where one product's weights, column constants and vectors are while it runs."""

    weight: Buffer
    constants: Buffer
    vectors: Buffer


@dataclass(frozen=True, kw_only=True)
class EncoderPlan:
    """Places of everything, in words.

    A core has ``length`` positions of a text from the ``first`` on; all of those before ``valid``
    are tokens.

    VEC: ``x`` residual of each text in the core, ``u`` hidden rows of one block, ``table`` of EXP2.
    ACT: ``q`` queries, then mixed values, then rows of the feed-forward network, word
    ``tile * T + position``; ``positions`` of two blocks, of a single text in the place of ``q``;
    ``h``, later ``hidden``: rows of two blocks; ``p`` one of each of ``depth`` blocks; ``ones`` one
    row. WGT: ``keys`` word
    ``position tile * (H * head_in) + head * head_in + tile``; ``values`` word
    ``(head * head_out + tile) * key_tiles + position tile``; ``pool`` in the place of both;
    ``identity``. CONST: two ``norms``, or three for several texts; ``pool_in``, ``pool_out``.
    ROW: ``inverse`` and ``scale`` of all rows, the rest of blocks.
    """

    length: int
    valid: int
    first: int
    tiles: Tiles
    key_tiles: int
    block: int
    depth: int
    score_stride: int
    mix_stride: int
    slots: tuple[Slot, ...]
    x: Buffer
    u: Buffer
    table: Buffer
    q: Buffer
    positions: Buffer
    h: Buffer
    hidden: Buffer
    p: tuple[Buffer, ...]
    ones: Buffer
    keys: Buffer
    values: Buffer
    pool: Buffer
    identity: Buffer
    norms: tuple[Buffer, ...]
    pool_in: Buffer
    pool_out: Buffer
    inverse: Buffer
    scale: Buffer
    mean: Buffer
    root: Buffer
    hidden_inverse: tuple[Buffer, ...]
    hidden_scale: tuple[Buffer, ...]
    maxima: tuple[Buffer, ...]
    sums: tuple[Buffer, ...]

    @property
    def queries(self) -> int:
        """First word of the queries in activation memory."""
        return self.q.base

    @property
    def tokens(self) -> int:
        """How many of the core's positions are tokens."""
        return max(0, min(self.valid - self.first, self.length))

    def text(self, number: int) -> "EncoderPlan":
        """The same places for one of several texts: their residuals go around in ``x``."""
        words = self.length * self.tiles.width_beats
        base = self.x.base + number % (self.x.words // words) * words
        return dataclasses.replace(self, x=Buffer(Region.VEC, base, words))


def plan_encoder(model: QuantizedEncoder, config: Config, length: int, valid: int,
                 what: str, texts: int = 1) -> EncoderPlan:
    """Lay an encoder out for ``length`` positions of which ``valid`` exist. Residuals of so many
    ``texts`` are in the core at once.

    Raises
    ------
    CapacityError
        When a memory is too small.
    """
    tiles, take = Tiles.of(model, config), Allocator(config)
    key_tiles = ceil_div(length, config.rows)
    score_stride = ceil_div(key_tiles * config.rows, config.cols)
    mix_stride = ceil_div(tiles.head_in * config.rows, config.cols)
    block = max(1, min(length, default_block_rows(config), config.acc_half // max(
        tiles.widest, score_stride + mix_stride)))
    depth = next((depth for depth in DEPTHS if depth // 2 * block * (score_stride + mix_stride)
                  <= config.acc_half), DEPTHS[-1])
    check_capacity(config, Region.ACC, 2 * max(tiles.widest, score_stride + mix_stride), what)
    places = {
        **_vector(take, tiles, length * texts, block, config),
        **_activations(take, model, tiles, length, block, depth, key_tiles, texts > 1),
        **_weights(take, model, tiles, length, key_tiles, config),
        **_constants(take, tiles, 2 if texts == 1 else 3),
        **row_places(take, length, block, depth)}
    slots = _slots(take, model, tiles, config, what)
    take.check(what)
    return EncoderPlan(
        length=length, valid=valid, first=0, tiles=tiles, key_tiles=key_tiles, block=block,
        depth=depth, score_stride=score_stride, mix_stride=mix_stride, slots=slots, **places)


def _vector(take: Allocator, tiles: Tiles, length: int, block: int, config: Config) -> Places:
    return {"x": take.take(Region.VEC, length * tiles.width_beats),
            "u": take.take(Region.VEC, max(block * tiles.group_beats, tiles.width_beats)),
            "table": take.take(Region.VEC, table_words(config))}


def _activations(take: Allocator, model: QuantizedEncoder, tiles: Tiles, length: int, block: int,
                 depth: int, key_tiles: int, apart: bool) -> Places:
    words = 2 * block * 2 * tiles.units * tiles.unit_in
    wide = max(model.heads * tiles.head_in, tiles.width_in)
    q = take.take(Region.ACT, max(length * wide, 0 if apart else words))
    positions = take.take(Region.ACT, words) if apart else Buffer(Region.ACT, q.base, words)
    rows = take.take(Region.ACT, 2 * block * max(tiles.width_in, tiles.group_in))
    return {"q": q, "positions": positions, "h": rows, "hidden": rows,
            "p": take.several(depth, Region.ACT, block * key_tiles),
            "ones": take.take(Region.ACT, key_tiles)}


def _weights(take: Allocator, model: QuantizedEncoder, tiles: Tiles, length: int, key_tiles: int,
             config: Config) -> Places:
    keys = take.take(Region.WGT, ceil_div(length, config.cols) * model.heads * tiles.head_in)
    values = take.take(Region.WGT, tiles.value_stride * key_tiles)
    need = key_tiles * tiles.width_stride
    take.take(Region.WGT, max(0, need - keys.words - values.words))
    identity = tiles.unit_out * 2 * tiles.unit_in
    return {"keys": keys, "values": values, "pool": Buffer(Region.WGT, keys.base, need),
            "identity": take.take(Region.WGT, identity)}


def _constants(take: Allocator, tiles: Tiles, norms: int) -> Places:
    return {"norms": take.several(norms, Region.CONST, 3 * tiles.width_beats),
            "pool_in": take.take(Region.CONST, tiles.width_beats),
            "pool_out": take.take(Region.CONST, tiles.width_beats)}


def row_places(take: Allocator, length: int, block: int, depth: int) -> Places:
    """Row constants."""
    return {"inverse": take.take(Region.ROW, length), "scale": take.take(Region.ROW, length),
            "mean": take.take(Region.ROW, block), "root": take.take(Region.ROW, block),
            "hidden_inverse": take.several(2, Region.ROW, block),
            "hidden_scale": take.several(2, Region.ROW, block),
            "maxima": take.several(depth, Region.ROW, block),
            "sums": take.several(depth, Region.ROW, block)}


def _slots(take: Allocator, model: QuantizedEncoder, tiles: Tiles, config: Config,
           what: str) -> tuple[Slot, ...]:
    """As many slots as the memories hold."""
    sizes = {
        Region.WGT: max(tiles.width_in * max(tiles.query_stride, tiles.value_stride,
                                             tiles.group_out),
                        tiles.width_out * max(model.heads * tiles.head_in, tiles.group_in)),
        Region.CONST: max(tiles.query_beats, tiles.value_beats, tiles.width_beats,
                          tiles.group_beats),
        Region.VEC: max(tiles.query_beats, tiles.group_beats + table_words(config))}
    count = min(MOST_SLOTS, *(take.free(region) // size for region, size in sizes.items()))
    return tuple(Slot(weight=take.take(Region.WGT, sizes[Region.WGT]),
                      constants=take.take(Region.CONST, sizes[Region.CONST]),
                      vectors=take.take(Region.VEC, sizes[Region.VEC]))
                 for _ in range(max(LEAST_SLOTS, count)))
