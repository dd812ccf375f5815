"""Where everything of a core's share of an encoder lies in its memories.

All cores have the same places, so what one sends keeps its address.
"""
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from systolith.hw.config import Config, Region
from systolith.sw.compiler.allocate import Allocator, Buffer, check_capacity
from systolith.sw.compiler.layout import ceil_div, table_words
from systolith.sw.compiler.plan import DEPTHS, default_block_rows
from systolith.sw.encoder.mesh.share import Share
from systolith.sw.encoder.plan import EncoderPlan, Places, Tiles, row_places
from systolith.sw.reference.encoder import QuantizedEncoder

#: Blocks of hidden rows: one is used, the next one comes, and the last one's place is only taken
#: again when its columns of the residual, which come back, say that all cores have used it.
SLOTS = 3

#: Blocks that wait to be sent: one is written while the one before is on its way.
STAGES = 2

#: Blocks of a core's positions, where these are many enough: the exchange of one is behind the
#: products of the others.
BLOCKS = 4


@dataclass(frozen=True, kw_only=True)
class MeshPlan(EncoderPlan):
    """Places of everything in a core of a mesh, in words.

    A core has ``length`` positions of a text from the ``first`` on. Besides what
    :class:`EncoderPlan` says: ``q`` has the mixed values of all heads of the model, word
    ``(head * head_in + tile) * T + position``, and queries in the places of the own ones; ``h`` is
    ``tile * T + position``. ``hidden``, in the place of ``q`` where both do not fit, has
    :data:`SLOTS` blocks of all groups, word
    ``((slot * groups + group) * group_in + tile) * block + row``, and ``hidden_scales`` their
    scales, ``scale_rows`` words a block and group. ``stage`` has in weight
    memory, where the array leaves room for reads, what is sent from there, :data:`STAGES` blocks.
    ``ones`` is in the place of a ``p``.
    ``all_keys`` and ``all_values`` are used in turn by the layers. ``windows`` are for what is
    loaded. ``x`` has the residuals of some texts, ``residual`` words each.
    """

    share: Share
    groups: int
    all_keys: tuple[Buffer, ...]
    all_values: tuple[Buffer, ...]
    stage: Buffer
    hidden_scales: Buffer
    scale_rows: int
    windows: Mapping[Region, Buffer]
    residual: int

    @property
    def queries(self) -> int:
        return self.q.base + self.share.heads[0] * self.tiles.head_in * self.length

    def text(self, number: int) -> "MeshPlan":
        # The cores of a column have not all as many positions, but the same places.
        base = self.x.base + number % (self.x.words // self.residual) * self.residual
        return dataclasses.replace(self, x=Buffer(Region.VEC, base, self.residual))

    def of(self, share: Share, tiles: Tiles) -> "MeshPlan":
        """The same places for another core, which has no more of anything."""
        first, last = share.positions
        return dataclasses.replace(self, share=share, tiles=tiles, first=first, length=last - first)

    def layer(self, index: int) -> "MeshPlan":
        """The plan with the places of the keys and values of a layer."""
        number = index % len(self.all_keys)
        return dataclasses.replace(self, keys=self.all_keys[number],
                                   values=self.all_values[number])

    def hidden_base(self, slot: int, group: int) -> int:
        """First word in activation memory of a block's hidden rows of a group."""
        tiles = (slot % SLOTS * self.groups + group) * self.tiles.group_in
        return self.hidden.base + tiles * self.block

    def hidden_scale_base(self, slot: int, group: int) -> int:
        """First row constant of the scales of a block's hidden rows of a group."""
        return self.hidden_scales.base + (
            slot % SLOTS * self.groups + group) * self.scale_rows


def plan_mesh(model: QuantizedEncoder, config: Config, length: int, valid: int, share: Share,
              what: str, texts: int = 1) -> MeshPlan:
    """Lay an encoder out for ``length`` positions of which ``valid`` exist, on the core that has
    most of everything. Residuals of so many ``texts`` are in the core at once.

    Raises
    ------
    CapacityError
        When a memory is too small.
    """
    heads = share.heads[1] - share.heads[0]
    tiles, take = Tiles.of(model, config, heads), Allocator(config)
    key_tiles, own = ceil_div(length, config.rows), share.positions[1] - share.positions[0]
    score_stride = ceil_div(key_tiles * config.rows, config.cols)
    mix_stride = ceil_div(tiles.head_in * config.rows, config.cols)
    block = _block(own, max(tiles.widest, score_stride + mix_stride), config)
    depth = next((depth for depth in DEPTHS if depth // 2 * block * (score_stride + mix_stride)
                  <= config.acc_half), DEPTHS[-1])
    check_capacity(config, Region.ACC, 2 * max(tiles.widest, score_stride + mix_stride), what)
    groups, words = len(model.layers[0].groups), config.bus_bytes // config.word_bytes(Region.ROW)
    scale_rows = ceil_div(block, words) * words
    places = {
        # First, so that they begin with a beat of the bus.
        "hidden_scales": take.take(Region.ROW, SLOTS * groups * scale_rows),
        "scale_rows": scale_rows,
        **_activations(take, model, tiles, own, block, depth, key_tiles, groups),
        **_weights(take, tiles, length, key_tiles, block, share.column.cores > 1, config),
        **row_places(take, own, block, depth),
        "norms": (), "residual": own * tiles.width_beats,
        "pool_in": take.take(Region.CONST, tiles.width_beats),
        "pool_out": take.take(Region.CONST, tiles.width_beats),
        "x": take.take(Region.VEC, own * tiles.width_beats * texts),
        "u": take.take(Region.VEC, max(block * tiles.group_beats, tiles.width_beats)),
        "table": take.take(Region.VEC, table_words(config))}
    take.check(what)
    places["windows"] = {region: take.take(region, take.free(region))
                         for region in (Region.WGT, Region.CONST, Region.VEC)}
    return MeshPlan(length=own, valid=valid, first=share.positions[0], tiles=tiles,
                    key_tiles=key_tiles, block=block, depth=depth, score_stride=score_stride,
                    mix_stride=mix_stride, slots=(), share=share, groups=groups, **places)


def _block(own: int, stride: int, config: Config) -> int:
    """Rows of a block: whole halves of the least that the array likes, at most as many as a half of
    the accumulators holds."""
    rows = default_block_rows(config)
    if own < BLOCKS * rows:
        rows //= 2
    return max(1, min(own, rows, config.acc_half // stride))


def _activations(take: Allocator, model: QuantizedEncoder, tiles: Tiles, own: int, block: int,
                 depth: int, key_tiles: int, groups: int) -> Places:
    positions = 2 * block * 2 * tiles.units * tiles.unit_in
    mixed = max(own * model.heads * tiles.head_in, positions)
    hidden = SLOTS * groups * block * tiles.group_in
    rows = take.take(Region.ACT, own * tiles.width_in)
    p = take.several(depth, Region.ACT, block * key_tiles)
    if mixed + hidden <= take.free(Region.ACT):
        q, hidden_rows = take.take(Region.ACT, mixed), take.take(Region.ACT, hidden)
    else:
        q = hidden_rows = take.take(Region.ACT, max(mixed, hidden))
    return {"q": q, "positions": Buffer(Region.ACT, q.base, positions), "hidden": hidden_rows,
            "h": rows, "p": p,
            "ones": Buffer(Region.ACT, p[0].base, key_tiles)}


def _weights(take: Allocator, tiles: Tiles, length: int, key_tiles: int, block: int, sent: bool,
             config: Config) -> Places:
    """Keys and values that others send have two places, so that none comes while the one before is
    in use."""
    count = 2 if sent else 1
    keys = take.several(count, Region.WGT,
                        ceil_div(length, config.cols) * tiles.heads * tiles.head_in)
    values = take.several(count, Region.WGT, tiles.value_stride * key_tiles)
    stage = STAGES * ceil_div(block, config.rows) * max(tiles.heads * tiles.head_in, tiles.group_in)
    return {"keys": keys[0], "values": values[0], "all_keys": keys, "all_values": values,
            "pool": take.take(Region.WGT, key_tiles * tiles.width_stride),
            "identity": take.take(Region.WGT, tiles.unit_out * 2 * tiles.unit_in),
            "stage": take.take(Region.WGT, stage)}
