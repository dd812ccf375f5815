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

    Of a share of a decoder, ``width_*``, ``mixed_in`` (mixed values), ``hidden_in`` and
    ``hidden_row`` are those of all cores; ``output_*`` and ``down_*`` are the columns of the
    residual that the core itself gives.
    """

    width_in: int
    width_beats: int
    width_stride: int
    mixed_in: int
    output_out: int
    output_beats: int
    output_stride: int
    down_out: int
    down_beats: int
    down_stride: int
    head_in: int
    head_out: int
    query_beats: int
    query_stride: int
    key_beats: int
    key_stride: int
    value_beats: int
    value_stride: int
    hidden_in: int
    hidden_row: int
    hidden_out: int
    hidden_beats: int
    hidden_stride: int
    vocabulary_out: int
    vocabulary_beats: int

    @classmethod
    def of(cls, model: QuantizedDecoder, config: Config) -> "Tiles":
        """Tiles of a model, or of a share of one, on a configuration."""
        rows, cols, lanes = config.rows, config.cols, config.lanes
        layer, width_in = model.layers[0], ceil_div(model.width, rows)
        head_in, head_out = ceil_div(model.head_dim, rows), ceil_div(model.head_dim, cols)
        queries, keys = model.heads * head_in * rows, model.kv_heads * head_in * rows
        output, down = (_results(each.weight.shape[1], model.width, config)
                        for each in (layer.out, layer.down))
        hidden = _results(model.hidden, layer.down.weight.shape[0], config)
        hidden_in = ceil_div(layer.down.weight.shape[0], rows)
        vocabulary = model.head.weight.shape[1]
        return cls(
            width_in=width_in, width_beats=width_in * rows // lanes,
            width_stride=ceil_div(width_in * rows, cols),
            mixed_in=layer.out.weight.shape[0] // model.head_dim * head_in,
            output_out=output[0], output_beats=output[1], output_stride=output[2],
            down_out=down[0], down_beats=down[1], down_stride=down[2],
            head_in=head_in, head_out=head_out,
            query_beats=queries // lanes, query_stride=ceil_div(queries, cols),
            key_beats=keys // lanes, key_stride=ceil_div(keys, cols),
            value_beats=model.kv_heads * head_out * cols // lanes,
            value_stride=model.kv_heads * head_out,
            hidden_in=hidden_in, hidden_row=hidden_in * rows // lanes,
            hidden_out=hidden[0], hidden_beats=hidden[1], hidden_stride=hidden[2],
            vocabulary_out=ceil_div(vocabulary, cols), vocabulary_beats=ceil_div(vocabulary, lanes))

    @property
    def projected_stride(self) -> int:
        """Accumulators of the queries, keys and values of a row."""
        return self.query_stride + self.key_stride + self.value_stride


def _results(columns: int, row: int, config: Config) -> tuple[int, int, int]:
    """Output tiles, beats, and accumulators that a pass reads, of ``columns`` of a ``row``; beats
    of a whole row fill whole activation words."""
    filled = ceil_div(row, config.rows) * config.rows if columns == row else columns
    return (ceil_div(columns, config.cols), ceil_div(filled, config.lanes),
            ceil_div(filled, config.cols))


@dataclass(frozen=True, kw_only=True)
class Scratch:
    """What a run of ``length`` positions uses, in blocks of ``block`` rows.

    ``x`` residual, ``rope`` rotations (repeated for all heads), ``sigmoid``, ``gate`` and ``u``
    of one block, ``logits`` of two blocks (VEC); ``h`` and ``q`` of all rows, ``u8`` of two
    blocks, ``p`` of two waves (ACT); ``inverse``, ``lengths``, ``u_inverse``, ``u_scale``,
    ``index`` of all rows, ``maxima`` and ``sums`` of two waves (ROW).

    All cores of a chip have the same places. ``u_peak`` (ROW) is where a core leaves the largest
    magnitude of its hidden columns, ``u_peaks`` (VEC) where those of the others come, just behind
    room for the core's own columns.
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
    u_peak: Buffer
    u_peaks: Buffer
    score_stride: int
    mix_stride: int


def place_scratch(model: QuantizedDecoder, config: Config, length: int, context: int,
                  streamed: bool, what: str) -> Scratch:
    """Lay the memory of a run of ``length`` new positions out.

    Of several cores, ``model`` is the largest share: all have the same places.

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
    logits = 2 * head_block * ceil_div(model.vocabulary, config.lanes)
    places = {**_vector(take, model, tiles, length, block, logits),
              **_activations(take, tiles, length, block,
                             2 * wave * rows * ceil_div(context, config.rows)),
              **_rows(take, length, 2 * wave * rows), **_peaks(take, tiles, config)}
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
            words: int) -> dict[str, Buffer]:
    """``words`` of logits lie where the feed-forward network's parts were."""
    squashed = any(layer.squash_words is not None for layer in model.layers)
    x, rope = (take.take(Region.VEC, length * tiles.width_beats),
               take.take(Region.VEC, length * tiles.query_beats))
    parts = [block * tiles.hidden_beats * squashed, block * tiles.hidden_beats,
             block * tiles.hidden_row]
    shared = take.take(Region.VEC, max(sum(parts), words))
    ends = list(accumulate(parts, initial=shared.base))
    return {"x": x, "rope": rope, "logits": Buffer(Region.VEC, shared.base, words),
            **{name: Buffer(Region.VEC, base, size)
               for name, base, size in zip(("sigmoid", "gate", "u"), ends, parts, strict=False)}}


def _activations(take: Allocator, tiles: Tiles, length: int, block: int,
                 probabilities: int) -> dict[str, Buffer]:
    sizes = {"h": length * tiles.width_in, "q": length * tiles.mixed_in,
             "u8": 2 * block * tiles.hidden_in, "p": probabilities}
    return {name: take.take(Region.ACT, words) for name, words in sizes.items()}


def _rows(take: Allocator, length: int, waves: int) -> dict[str, Buffer]:
    sizes = dict.fromkeys(("inverse", "lengths", "u_inverse", "u_scale", "index"), length)
    return {name: take.take(Region.ROW, words)
            for name, words in {**sizes, "maxima": waves, "sums": waves}.items()}


def _peaks(take: Allocator, tiles: Tiles, config: Config) -> dict[str, Buffer]:
    """Room for one magnitude of each core, each a bus word by itself."""
    words = config.bus_bytes // config.word_bytes(Region.ROW) * (config.cores > 1)
    row = take.take(Region.ROW, words)
    base = ceil_div(row.base, words) * words if words else row.base
    take.take(Region.ROW, base - row.base)
    own = take.take(Region.VEC, tiles.hidden_beats * (config.cores > 1))
    return {"u_peak": Buffer(Region.ROW, base, words),
            "u_peaks": take.take(Region.VEC, peak_words(config)) if own.words else own}


def peak_words(config: Config) -> int:
    """Words of vector memory for one bus word of each core."""
    return ceil_div(config.cores * config.bus_bytes, config.word_bytes(Region.VEC))
