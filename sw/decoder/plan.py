"""Sizes of a decoder on a configuration, and where everything lies in the memories."""
from dataclasses import dataclass
from itertools import accumulate

from systolith.hw.config import Config, Region
from systolith.sw.compiler.allocate import Allocator, Buffer, check_capacity
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.plan import default_block_rows
from systolith.sw.reference.quantized_decoder import QuantizedDecoder

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
                  streamed: bool, what: str) -> Scratch:
    """Lay the memory of a run of ``length`` new positions out.

    Where weights are ``streamed``, all rows are one block: each weight comes once.

    Raises
    ------
    CapacityError
        When a memory is too small.
    """
    tiles, take = Tiles.of(model, config), Allocator(config)
    check_capacity(config, Region.ACC, _accumulators(tiles, config, length, streamed), what)
    block = length if streamed else _block_rows(tiles, config, length)
    head_block = max(1, min(block, config.acc_half // tiles.vocabulary_out))
    score_stride = ceil_div(ceil_div(context, config.rows) * config.rows, config.cols)
    mix_stride = ceil_div(tiles.head_in * config.rows, config.cols)
    rows = model.heads // model.kv_heads if length == 1 else block
    wave = max(1, min(WAVE, config.acc_half // (rows * (score_stride + mix_stride))))
    places = {**_vector(take, model, tiles, length, block, head_block),
              **_activations(take, model, tiles, length, block,
                             2 * wave * rows * ceil_div(context, config.rows)),
              **_rows(take, length, 2 * wave * rows)}
    take.check(what)
    check_capacity(config, Region.ACC, 2 * wave * rows * (score_stride + mix_stride), what)
    return Scratch(length=length, block=block, head_block=head_block, wave=wave,
                   score_stride=score_stride, mix_stride=mix_stride, **places)


def _accumulators(tiles: Tiles, config: Config, length: int, streamed: bool) -> int:
    """Accumulators of the most rows that are in use at once; of one row where blocks of rows
    alternate between the halves."""
    if not streamed:
        return 2 * _block_stride(tiles)
    return length * max(2 * (tiles.query_stride + tiles.value_stride), 2 * tiles.key_stride,
                        tiles.hidden_stride, tiles.width_stride)


def _block_stride(tiles: Tiles) -> int:
    return max(2 * tiles.projected_stride, 2 * tiles.hidden_stride + tiles.width_stride)


def _block_rows(tiles: Tiles, config: Config, length: int) -> int:
    """Rows of a block, so that what is between the array and the vector unit fits a half."""
    return min(length, default_block_rows(config), config.acc_half // _block_stride(tiles))


def _vector(take: Allocator, model: QuantizedDecoder, tiles: Tiles, length: int, block: int,
            head_block: int) -> dict[str, Buffer]:
    """Logits lie where the feed-forward network's parts were."""
    squashed = any(layer.squash_words is not None for layer in model.layers)
    x, rope = (take.take(Region.VEC, length * tiles.width_beats),
               take.take(Region.VEC, length * tiles.query_beats))
    parts = [block * tiles.hidden_beats * squashed, block * tiles.hidden_beats,
             block * tiles.hidden_beats]
    words = 2 * head_block * tiles.vocabulary_beats
    shared = take.take(Region.VEC, max(sum(parts), words))
    ends = list(accumulate(parts, initial=shared.base))
    return {"x": x, "rope": rope, "logits": Buffer(Region.VEC, shared.base, words),
            **{name: Buffer(Region.VEC, base, size)
               for name, base, size in zip(("sigmoid", "gate", "u"), ends, parts, strict=False)}}


def _activations(take: Allocator, model: QuantizedDecoder, tiles: Tiles, length: int, block: int,
                 probabilities: int) -> dict[str, Buffer]:
    sizes = {"h": length * tiles.width_in, "q": length * model.heads * tiles.head_in,
             "u8": 2 * block * tiles.hidden_in, "p": probabilities}
    return {name: take.take(Region.ACT, words) for name, words in sizes.items()}


def _rows(take: Allocator, length: int, waves: int) -> dict[str, Buffer]:
    sizes = dict.fromkeys(("inverse", "lengths", "u_inverse", "u_scale", "index"), length)
    return {name: take.take(Region.ROW, words)
            for name, words in {**sizes, "maxima": waves, "sums": waves}.items()}
