"""What of a decoder stays in the core for a whole session, and where."""
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from systolith.hw.config import Config, Region
from systolith.sw.compiler.allocate import Allocator, Buffer, CapacityError
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.decoder.plan import Tiles, peak_words
from systolith.sw.reference.numerics import Ints
from systolith.sw.reference.quantized_decoder import Columns, QuantizedDecoder, QuantizedLayer

#: Chunks of weights that a ring holds: one in use, the others on their way.
CHUNKS = 4


@dataclass(frozen=True, kw_only=True)
class LinearSize:
    """Contraction and output tiles of a linear layer, and the beats of its drain."""

    tiles_in: int
    tiles_out: int
    beats: int

    @property
    def words(self) -> int:
        """Words of weight memory."""
        return self.tiles_in * self.tiles_out


def linear_sizes(model: QuantizedDecoder, config: Config) -> dict[str, LinearSize]:
    """All linear layers by name in the order of their use: ``k0``, ``q0`` and so on, ``head``.

    ``squash0`` are other column constants for the results of ``gate0``. Column constants of a norm
    are ``norm1 0 measure`` and so on, those of growing units ``grow_attention0``. ``peaks`` are
    those of the hidden columns of a core and of all cores' largest magnitudes.
    """
    tiles, sizes = Tiles.of(model, config), {}

    def add(name: str, tiles_in: int, tiles_out: int, beats: int) -> None:
        sizes[name] = LinearSize(tiles_in=tiles_in, tiles_out=tiles_out, beats=beats)

    def add_constants(constants: Mapping[str, Ints]) -> None:
        for name in constants:
            add(name, 0, 0, tiles.width_beats)

    if config.cores > 1:
        add("peaks", 0, 0, tiles.hidden_beats + peak_words(config))
    for i, layer in enumerate(model.layers):
        add_constants(layer_constants(i, layer))
        add(f"k{i}", tiles.width_in, tiles.key_stride, tiles.key_beats)
        add(f"q{i}", tiles.width_in, tiles.query_stride, tiles.query_beats)
        add(f"v{i}", tiles.width_in, tiles.value_stride, tiles.value_beats)
        add(f"out{i}", tiles.mixed_in, tiles.output_out, tiles.output_beats)
        add(f"gate{i}", tiles.width_in, tiles.hidden_out, tiles.hidden_beats)
        if layer.squash_words is not None:
            add(f"squash{i}", 0, 0, tiles.hidden_beats)
        add(f"up{i}", tiles.width_in, tiles.hidden_out, tiles.hidden_beats)
        add(f"down{i}", tiles.hidden_in, tiles.down_out, tiles.down_beats)
    add_constants(norm_constants("norm", model.norm))
    add("head", tiles.width_in, tiles.vocabulary_out, tiles.vocabulary_beats)
    return sizes


def norm_constants(name: str, columns: Columns | None) -> dict[str, Ints]:
    """Scale words (d,) of a norm by the names of their column constants."""
    return {} if columns is None else {
        f"{name} {part}": getattr(columns, part) for part in ("measure", "smooth", "length")}


def layer_constants(index: int, layer: QuantizedLayer) -> dict[str, Ints]:
    """Scale words (d,) of the residual's columns in a layer by the names of their constants."""
    growth = {f"grow_attention{index}": layer.grow_attention,
              f"grow_feed_forward{index}": layer.grow_feed_forward}
    return {**norm_constants(f"norm1 {index}", layer.norm1),
            **norm_constants(f"norm2 {index}", layer.norm2),
            **{name: words for name, words in growth.items() if isinstance(words, np.ndarray)}}


@dataclass(frozen=True, kw_only=True)
class LinearPlace:
    """Weights of a linear layer that stay in the core, and the column constants of its drain."""

    weight: Buffer
    constants: Buffer


@dataclass(frozen=True, kw_only=True)
class CachePlaces:
    """Keys and values of a layer.

    ``keys``: word ``position tile * (kv heads * head_in) + head * head_in + contraction tile``.
    ``values``: word ``(head * head_out + output tile) * value_tiles + position tile``.
    """

    keys: Buffer
    values: Buffer


@dataclass(frozen=True, kw_only=True)
class Residents:
    """What stays in the core for a whole session: keys and values of ``context`` positions, and
    the linear layers that fit.

    ``value_tiles`` are the position tiles of the values of one output tile. Where not all linear
    layers fit, the others go through ``rings``, of weights and of column constants; so many words
    of them at once are ``chunk_words`` and ``chunk_beats``.
    """

    caches: tuple[CachePlaces, ...]
    context: int
    value_tiles: int
    linears: dict[str, LinearPlace]
    rings: tuple[Buffer, ...]

    @property
    def streamed(self) -> bool:
        """Whether weights come out of external memory in every run."""
        return bool(self.rings)

    @property
    def chunk_words(self) -> int:
        """Words of weights that are fetched at once at most."""
        return self.rings[0].words // CHUNKS

    @property
    def chunk_beats(self) -> int:
        """Words of column constants of such a chunk at most."""
        return self.rings[1].words // CHUNKS


def place_residents(model: QuantizedDecoder, config: Config, context: int,
                    what: str) -> Residents:
    """Lay keys and values of ``context`` positions out, and all linear layers, or else the rings.

    Raises
    ------
    CapacityError
        When a memory is too small.
    """
    sizes, take = linear_sizes(model, config), Allocator(config)
    caches = _caches(take, model, config, context)
    rings: tuple[Buffer, ...] = ()
    fits = (take.free(Region.WGT) >= sum(size.words for size in sizes.values())
            and take.free(Region.CONST) >= sum(size.beats for size in sizes.values()))
    if not fits:
        rings = _rings(take, sizes)
    linears = {name: LinearPlace(weight=take.take(Region.WGT, size.words),
                                 constants=take.take(Region.CONST, size.beats))
               for name, size in sizes.items() if fits}
    take.check(what)
    return Residents(caches=caches, linears=linears, rings=rings, context=context,
                     value_tiles=ceil_div(context, config.rows))


def longest_context(model: QuantizedDecoder, config: Config, limit: int) -> int:
    """The most positions, at most ``limit``, for which there is room; ``limit`` where there is for
    none, so that :func:`place_residents` says what is missing."""
    def full(context: int) -> bool:
        try:
            place_residents(model, config, context, "")
        except CapacityError:
            return True
        return False

    # The first context that is too long, among 1 to limit + 1.
    longest = bisect_left(range(1, limit + 1), True, key=full)
    return longest or limit


def _caches(take: Allocator, model: QuantizedDecoder, config: Config,
            context: int) -> tuple[CachePlaces, ...]:
    tiles = Tiles.of(model, config)
    keys = ceil_div(context, config.cols) * model.kv_heads * tiles.head_in
    values = tiles.value_stride * ceil_div(context, config.rows)
    return tuple(CachePlaces(keys=take.take(Region.WGT, keys), values=take.take(Region.WGT, values))
                 for _ in model.layers)


def _rings(take: Allocator, sizes: Mapping[str, LinearSize]) -> tuple[Buffer, ...]:
    """All that is left, but at least so much that chunks are fetched while others are in use."""
    columns = max(size.tiles_in for size in sizes.values())
    tile_beats = take.config.cols // take.config.lanes
    beats = max(size.beats for name, size in sizes.items() if name != "head")
    return (take.take(Region.WGT, max(take.free(Region.WGT), CHUNKS * columns)),
            take.take(Region.CONST, max(take.free(Region.CONST), 2 * beats,
                                        CHUNKS * tile_beats)))
