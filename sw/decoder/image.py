"""A decoder's constant data: in external memory, with the loads that fetch it once a session."""
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Table
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.image import Image
from systolith.sw.compiler.layout import (
    ceil_div,
    column_constants,
    pad,
    pad_columns,
    pad_rows,
    table_words,
    vector_words,
    weight_tiles,
)
from systolith.sw.compiler.softmax import EXP2_TABLE
from systolith.sw.decoder.plan import SIGMOID_TABLE, Tiles
from systolith.sw.decoder.residents import (
    LinearPlace,
    Residents,
    layer_constants,
    linear_sizes,
    norm_constants,
)
from systolith.sw.decoder.share import Share
from systolith.sw.decoder.weights import Stored
from systolith.sw.reference.numerics import Ints, exp2_table
from systolith.sw.reference.quantized_decoder import Linear, QuantizedDecoder
from systolith.sw.reference.rows import tensor_word

#: Scale word of 1.
ONE = tensor_word(1)


@dataclass(frozen=True)
class External:
    """Byte addresses in external memory: rows of the embedding, rotations of each position, and
    room for the logits of ``context`` positions."""

    embedding: int
    rope: int
    logits: int


class DecoderImage:
    """Builds the image of a decoder.

    Parameters
    ----------
    model : QuantizedDecoder
    residents : Residents
    config : Config
    share : Share
        The part of the whole decoder that ``model`` is.
    before : DecoderImage, optional
        The image of the core before, which has the tokens' rows, the logits, and the external
        memory up to this image.

    Attributes
    ----------
    image : Image
        Sections for the host to write, and the loads.
    stored : dict of str to Stored
        Where linear layers are in external memory.
    external : External
        Where the driver and the runs find the rest.
    setup : list of Command
        What a session runs once, in an order in which it could run one by one.
    """

    def __init__(self, model: QuantizedDecoder, residents: Residents, config: Config, share: Share,
                 before: "DecoderImage | None" = None):
        self.model, self.residents, self.config = model, residents, config
        self.share = share
        self.tiles = Tiles.of(model, config)
        self.sizes = linear_sizes(model, config)
        self.image: Image = Image(config, before.image.external if before else 0)
        self.stored: dict[str, Stored] = {}
        if not share.alone:
            self._constants({"peaks": self._peaks()})
        self._layers()
        self._constants(norm_constants("norm", model.norm))
        self._linear("head", model.head)
        tables = self._tables()
        self.external: External = self._external(before.external if before else None)
        self.setup: list[Command] = [*self.image.loads, *tables]

    def check(self, what: str) -> None:
        """Raise :class:`CapacityError` when external memory is too small."""
        self.image.check(what)

    def _layers(self) -> None:
        tiles, rows, cols = self.tiles, self.config.rows, self.config.cols
        hd, key, value = self.model.head_dim, self.tiles.head_in * rows, tiles.head_out * cols
        for i, layer in enumerate(self.model.layers):
            self._linear(f"q{i}", head_columns(layer.q, hd, key))
            self._linear(f"k{i}", head_columns(layer.k, hd, key))
            self._linear(f"v{i}", head_columns(layer.v, hd, value))
            self._linear(f"out{i}", head_rows(layer.out, hd, key))
            self._linear(f"gate{i}", layer.gate)
            if layer.squash_words is not None:
                self._constants({f"squash{i}": layer.squash_words})
            self._constants(layer_constants(i, layer))
            self._linear(f"up{i}", layer.up)
            self._linear(f"down{i}", layer.down)

    def _constants(self, constants: Mapping[str, Ints]) -> None:
        """Column constants by name, of passes that have no weights."""
        for name, words in constants.items():
            self._linear(name, Linear(weight=np.zeros((0, 0), dtype=np.int64), words=words))

    def _linear(self, name: str, linear: Linear) -> None:
        """Weights and column constants; the drain's last words may hold more than the columns."""
        size = self.sizes[name]
        tiles = weight_tiles(linear.weight, self.config).ljust(
            size.words * self.config.word_bytes(Region.WGT), b"\0")
        constants = column_constants(linear.words, None, self.config, size.beats)
        place = self.residents.linears.get(name) or LinearPlace(
            weight=Buffer(Region.WGT, 0, size.words),
            constants=Buffer(Region.CONST, 0, size.beats))
        weight = self.image.write(name, place.weight, tiles)
        bound = self.image.write(f"{name} constants", place.constants, constants)
        self.stored[name] = Stored(weight=weight.offset, constants=bound.offset)
        if name in self.residents.linears:
            if size.words:
                self.image.load(place.weight, weight, 0, size.words)
            if size.beats:
                self.image.load(place.constants, bound, 0, size.beats)

    def _tables(self) -> list[Command]:
        """The function tables, through the start of vector memory."""
        words, tables = table_words(self.config), {EXP2_TABLE: exp2_table(),
                                                   SIGMOID_TABLE: self.model.sigmoid}
        for number, table in tables.items():
            self.image.add(f"table {number}", Buffer(Region.VEC, number * words, words),
                           table.astype("<i2").tobytes())
        return [Table(table=number, source_base=number * words) for number in tables]

    def _peaks(self) -> Ints:
        """Scale words: 1 for the core's own hidden columns and for the lower half of each other
        core's magnitude, else 0."""
        own, bus = self.tiles.hidden_beats * self.config.lanes, self.config.bus_bytes // 2
        words = np.zeros(self.sizes["peaks"].beats * self.config.lanes, dtype=np.int64)
        words[:self.model.hidden] = ONE
        for core, (first, last) in enumerate(self.share.all_hidden):
            if core != self.share.number and first < last:
                words[own + core * bus] = ONE
        return words

    def _external(self, shared: External | None) -> External:
        rope = head_rope(self.model, self.tiles.head_in * self.config.rows)
        embedding = shared.embedding if shared else self._vectors(
            "embedding", self.model.embedding, self.tiles.width_beats)
        own = self._vectors("rope", rope, self.tiles.query_beats)
        if shared:
            return replace(shared, rope=own)
        beats = ceil_div(self.model.vocabulary, self.config.lanes)
        return External(embedding=embedding, rope=own, logits=self.image.place(
            Buffer(Region.VEC, 0, self.residents.context * beats)).offset)

    def _vectors(self, name: str, rows: Ints, beats: int) -> int:
        """Rows of INT16 in external memory only; their address."""
        return self.image.write(name, Buffer(Region.VEC, 0, len(rows) * beats),
                                vector_words(rows, self.config, beats)).offset


def head_columns(linear: Linear, head_dim: int, size: int) -> Linear:
    """Each head's ``head_dim`` columns padded to ``size`` with zeros, which give zeros."""
    return Linear(weight=pad_columns(linear.weight, head_dim, size),
                  words=pad_columns(linear.words, head_dim, size))


def head_rows(linear: Linear, head_dim: int, size: int) -> Linear:
    """Each head's ``head_dim`` rows padded to ``size`` with zeros."""
    return Linear(weight=pad_rows(linear.weight, head_dim, size), words=linear.words)


def head_rope(model: QuantizedDecoder, size: int) -> Ints:
    """Rotations (positions, heads * size), the same for every head."""
    return np.tile(pad(model.rope, model.positions, size), (1, model.heads))
