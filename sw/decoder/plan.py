"""Sizes of a decoder on a configuration, and where everything lies in the memories."""
from dataclasses import dataclass

from systolith.hw.config import Config, Region
from systolith.sw.compiler.allocate import Allocator, Buffer, check_capacity
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.plan import default_block_rows
from systolith.sw.reference.decoder import QuantizedDecoder

#: Function table of the sigmoid.
SIGMOID_TABLE = 1

#: Blocks whose softmax the vector unit does in one go, where memories allow.
WAVE = 4


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """A decoder in tiles and beats.

    ``*_in`` are contraction tiles (``rows`` each), ``*_out`` output tiles (``cols`` each),
    ``*_beats`` beats of ``lanes`` elements that fill whole activation words. ``head_in`` and
    ``head_out`` are those of one head; heads are padded to whole tiles and lie side by side.
    ``*_stride`` are words of accumulators that a pass over a row reads.
    """

    width_in: int
    width_out: int
    width_beats: int
    width_stride: int
    head_in: int
    head_out: int
    query_beats: int
    query_stride: int
    key_beats: int
    key_stride: int
    value_beats: int
    value_stride: int
    hidden_in: int
    hidden_out: int
    hidden_beats: int
    hidden_stride: int
    vocabulary_out: int
    vocabulary_beats: int

    @classmethod
    def of(cls, model: QuantizedDecoder, config: Config) -> "Tiles":
        """Tiles of a model on a configuration."""
        rows, cols, lanes = config.rows, config.cols, config.lanes
        width_in, hidden_in = ceil_div(model.width, rows), ceil_div(model.hidden, rows)
        head_in, head_out = ceil_div(model.head_dim, rows), ceil_div(model.head_dim, cols)
        queries, keys = model.heads * head_in * rows, model.kv_heads * head_in * rows
        return cls(
            width_in=width_in, width_out=ceil_div(model.width, cols),
            width_beats=width_in * rows // lanes, width_stride=ceil_div(width_in * rows, cols),
            head_in=head_in, head_out=head_out,
            query_beats=queries // lanes, query_stride=ceil_div(queries, cols),
            key_beats=keys // lanes, key_stride=ceil_div(keys, cols),
            value_beats=model.kv_heads * head_out * cols // lanes,
            value_stride=model.kv_heads * head_out,
            hidden_in=hidden_in, hidden_out=ceil_div(model.hidden, cols),
            hidden_beats=hidden_in * rows // lanes, hidden_stride=ceil_div(hidden_in * rows, cols),
            vocabulary_out=ceil_div(model.vocabulary, cols),
            vocabulary_beats=ceil_div(model.vocabulary, lanes))

    @property
    def projected_stride(self) -> int:
        """Accumulators of the queries, keys and values of a row."""
        return self.query_stride + self.key_stride + self.value_stride


@dataclass(frozen=True, kw_only=True)
class LinearPlace:
    """Weights of a linear layer, and the column constants of its drain."""

    weight: Buffer
    constants: Buffer


@dataclass(frozen=True, kw_only=True)
class LayerPlaces:
    """What a layer keeps in the core.

    ``keys``: word ``position tile * (kv heads * head_in) + head * head_in + contraction tile``.
    ``values``: word ``(head * head_out + output tile) * value_tiles + position tile``.
    """

    q: LinearPlace
    k: LinearPlace
    v: LinearPlace
    out: LinearPlace
    gate: LinearPlace
    squash: Buffer | None
    up: LinearPlace
    down: LinearPlace
    keys: Buffer
    values: Buffer


@dataclass(frozen=True, kw_only=True)
class Residents:
    """What stays in the core for a whole session: weights, constants, keys and values.

    ``value_tiles`` are the position tiles of the values of one output tile.
    """

    layers: tuple[LayerPlaces, ...]
    head: LinearPlace
    context: int
    value_tiles: int


def place_residents(model: QuantizedDecoder, config: Config, context: int, what: str) -> Residents:
    """Lay the weights, and the keys and values of ``context`` positions, out.

    Raises
    ------
    CapacityError
        When a memory is too small.
    """
    take, tiles = Allocator(config), Tiles.of(model, config)

    def linear(tiles_in: int, tiles_out: int, beats: int) -> LinearPlace:
        return LinearPlace(weight=take.take(Region.WGT, tiles_in * tiles_out),
                           constants=take.take(Region.CONST, beats))

    def layer(squashed: bool) -> LayerPlaces:
        d, f = tiles.width_in, tiles.hidden_in
        keys = ceil_div(context, config.cols) * model.kv_heads * tiles.head_in
        values = tiles.value_stride * ceil_div(context, config.rows)
        return LayerPlaces(
            q=linear(d, tiles.query_stride, tiles.query_beats),
            k=linear(d, tiles.key_stride, tiles.key_beats),
            v=linear(d, tiles.value_stride, tiles.value_beats),
            out=linear(model.heads * tiles.head_in, tiles.width_out, tiles.width_beats),
            gate=linear(d, tiles.hidden_out, tiles.hidden_beats),
            squash=take.take(Region.CONST, tiles.hidden_beats) if squashed else None,
            up=linear(d, tiles.hidden_out, tiles.hidden_beats),
            down=linear(f, tiles.width_out, tiles.width_beats),
            keys=take.take(Region.WGT, keys), values=take.take(Region.WGT, values))

    layers = tuple(layer(each.squash_words is not None) for each in model.layers)
    head = linear(tiles.width_in, tiles.vocabulary_out, tiles.vocabulary_beats)
    take.check(what)
    return Residents(layers=layers, head=head, context=context,
                     value_tiles=ceil_div(context, config.rows))


@dataclass(frozen=True, kw_only=True)
class Scratch:
    """What a run of ``length`` positions uses, in blocks of ``block`` rows.

    ``x`` residual, ``rope`` rotations (repeated for all heads), ``sigmoid``, ``gate`` and ``u``
    of one block, ``logits`` of two blocks (VEC); ``h`` and ``q`` of all rows, ``u8`` of two
    blocks, ``p`` of two waves (ACT); ``inverse``, ``lengths``, ``u_inverse``, ``u_scale``,
    ``index`` of all rows, ``maxima`` and ``sums`` of two waves (ROW).
    """

    length: int
    block: int
    head_block: int
    wave: int
    x: Buffer
    rope: Buffer
    sigmoid: Buffer
    gate: Buffer
    u: Buffer
    logits: Buffer
    h: Buffer
    q: Buffer
    u8: Buffer
    p: Buffer
    inverse: Buffer
    lengths: Buffer
    u_inverse: Buffer
    u_scale: Buffer
    index: Buffer
    maxima: Buffer
    sums: Buffer
    score_stride: int
    mix_stride: int


def place_scratch(model: QuantizedDecoder, config: Config, length: int, context: int,
                  what: str) -> Scratch:
    """Lay the memory of a run of ``length`` new positions out.

    Raises
    ------
    CapacityError
        When a memory is too small.
    """
    tiles, take = Tiles.of(model, config), Allocator(config)
    block = _block_rows(tiles, config, length, what)
    head_block = max(1, min(block, config.acc_half // tiles.vocabulary_out))
    squashed = any(layer.squash_words is not None for layer in model.layers)
    key_tiles = ceil_div(context, config.rows)
    score_stride = ceil_div(key_tiles * config.rows, config.cols)
    mix_stride = ceil_div(tiles.head_in * config.rows, config.cols)
    rows = model.heads // model.kv_heads if length == 1 else block
    wave = max(1, min(WAVE, config.acc_half // (rows * (score_stride + mix_stride))))
    vector, act = [take.take(Region.VEC, words) for words in (
        length * tiles.width_beats, length * tiles.query_beats,
        block * tiles.hidden_beats * squashed, block * tiles.hidden_beats,
        block * tiles.hidden_beats, 2 * head_block * tiles.vocabulary_beats)], [
        take.take(Region.ACT, words) for words in (
            length * tiles.width_in, length * model.heads * tiles.head_in,
            2 * block * tiles.hidden_in, 2 * wave * rows * key_tiles)]
    row = [take.take(Region.ROW, words) for words in (
        *[length] * 5, 2 * wave * rows, 2 * wave * rows)]
    take.check(what)
    check_capacity(config, Region.ACC, 2 * wave * rows * (score_stride + mix_stride), what)
    return Scratch(
        length=length, block=block, head_block=head_block, wave=wave, score_stride=score_stride,
        mix_stride=mix_stride,
        **dict(zip(("x", "rope", "sigmoid", "gate", "u", "logits"), vector, strict=True)),
        **dict(zip(("h", "q", "u8", "p"), act, strict=True)),
        **dict(zip(("inverse", "lengths", "u_inverse", "u_scale", "index", "maxima", "sums"), row,
                   strict=True)))


def _block_rows(tiles: Tiles, config: Config, length: int, what: str) -> int:
    """Rows of a block, so that what is between the array and the vector unit fits a half."""
    need = max(2 * tiles.projected_stride, 2 * tiles.hidden_stride + tiles.width_stride,
               tiles.vocabulary_out)
    check_capacity(config, Region.ACC, 2 * need, f"one row of {what}")
    limit = max(2 * tiles.projected_stride, 2 * tiles.hidden_stride + tiles.width_stride)
    return min(length, default_block_rows(config), config.acc_half // limit)
