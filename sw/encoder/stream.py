"""Weights of an encoder in external memory, and the loads that bring them in when they are needed.

Slots go around: a product's weights are fetched while those before it are in use, as far ahead as
there are slots. The order of commands alone does that; the scheduler finds when a slot is free.
"""
from collections.abc import Iterator

import numpy as np

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.image import Image, Place
from systolith.sw.compiler.layout import (
    activation_words,
    column_constants,
    pad,
    pad_columns,
    pad_rows,
    vector_words,
    weight_tiles,
)
from systolith.sw.compiler.tokens import token_loads
from systolith.sw.encoder.plan import EncoderPlan, Slot
from systolith.sw.reference.attention import Projection
from systolith.sw.reference.encoder import POSITION_HIGH, Biased, QuantizedEncoder, QuantizedNorm
from systolith.sw.reference.numerics import Ints, exp2_table


class WeightStream:
    """Image of an encoder, and its loads.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    config : Config
    image : Image, optional
        Of external memory, where cores share it.
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, config: Config,
                 image: Image | None = None):
        self.model, self.plan, self.config = model, plan, config
        self.tiles = plan.tiles
        self.image = Image(config) if image is None else image
        self.words = self._add("words", Region.VEC, vector_words(
            model.words, config, self.tiles.width_beats))
        self._positions = self._add("positions", Region.ACT, self._position_bytes())
        self._ones = self.image.write("ones", plan.ones, self._ones_bytes())
        self.output = self.image.place(self._output_buffer())
        self._places: dict[str, Slot] = {}
        self._count = 0

    def place(self, name: str) -> Slot:
        """Where the weights that were fetched last under that name are."""
        return self._places[name]

    def table(self, name: str) -> int:
        """First word in vector memory of a group's function table."""
        return self._places[name].vectors.base + self.tiles.group_beats

    def norm(self, number: int) -> int:
        """First column constant of a norm: gains and biases, then smoothing, then measures."""
        return self._norm_place(number).base

    def _norm_place(self, number: int) -> Buffer:
        return self.plan.norms[number % 2]

    # Loads -----------------------------------------------------------------------------------

    def start(self) -> Iterator[Command]:
        """The words of all positions, then what stays in the core."""
        yield from self.tokens(self.plan.x)
        yield from self.resident()

    def tokens(self, x: Buffer) -> Iterator[Command]:
        """A load for each position (of token 0: the driver puts the token's address in)."""
        word = self.config.word_bytes(Region.VEC)
        yield from token_loads(self.words.offset, self.plan.length, self.tiles.width_beats * word,
                               x.base * word)

    def resident(self) -> Iterator[Command]:
        """What stays in the core whatever the text."""
        plan, model, beats = self.plan, self.model, self.tiles.width_beats
        self.image.add("identity", plan.identity, self._identity())
        self.image.add("exp2", plan.table, exp2_table().astype("<i2").tobytes())
        self.image.add("pool in", plan.pool_in, column_constants(
            model.pool_words, None, self.config, beats))
        self.image.add("pool out", plan.pool_out, column_constants(
            model.unpool_words, None, self.config, beats))
        self.image.load(plan.ones, self._ones, 0, plan.ones.words)
        yield from self._loads()

    def positions(self, block: Span, base: int) -> Iterator[Command]:
        """Positions of a block of rows to activation memory from word ``base`` on."""
        words = 2 * self.tiles.units * self.tiles.unit_in
        buffer = Buffer(Region.ACT, base, (block[1] - block[0]) * words)
        size = self.config.word_bytes(Region.ACT)
        place = Place("ext", self._positions.offset + (
            self.plan.first + block[0]) * words * size, buffer.words * size)
        self.image.load(buffer, place, 0, buffer.words)
        yield from self._loads()

    def fetch_norm(self, number: int) -> Iterator[Command]:
        """Column constants of a norm; 0 is that of the embedding, then two of each layer."""
        layer = self.model.layers[(number - 1) // 2] if number else None
        norm = self.model.norm if layer is None else layer.norm1 if number % 2 else layer.norm2
        self.image.add(f"norm{number}", self._norm_place(number), self._norm(norm))
        yield from self._loads()

    def fetch(self, name: str) -> Iterator[Command]:
        """Weights, column constants and vectors of a product: ``q0``, ``k0``, ``v0``, ``out0``,
        ``up0.0``, ``down0.0`` and so on, the layer first, then the group."""
        slot = self.plan.slots[self._count % len(self.plan.slots)]
        self._count += 1
        self._places[name] = slot
        for part, buffer, data in zip(("", " constants", " vectors"),
                                      (slot.weight, slot.constants, slot.vectors),
                                      self._data(name), strict=True):
            if data:
                size = self.config.word_bytes(buffer.region)
                yield from self._bring(
                    name + part, Buffer(buffer.region, buffer.base, len(data) // size), data)

    def _bring(self, name: str, buffer: Buffer, data: bytes) -> Iterator[Command]:
        """Part of a product's weights into the core."""
        self.image.add(name, buffer, data)
        yield from self._loads()

    def finish(self) -> Iterator[Command]:
        """The embedding to external memory."""
        buffer = self._output_buffer()
        yield from self.image.store(buffer, self.output, 0, buffer.words)

    def _output_buffer(self) -> Buffer:
        return Buffer(Region.VEC, self.plan.u.base, self.tiles.width_beats)

    def _loads(self) -> list[Command]:
        loads, self.image.loads = self.image.loads, []
        return loads

    # Bytes -----------------------------------------------------------------------------------

    def _add(self, name: str, region: Region, data: bytes) -> Place:
        words = len(data) // self.config.word_bytes(region)
        return self.image.write(name, Buffer(region, 0, words), data)

    def _position_bytes(self) -> bytes:
        """(n, units, upper and lower, unit) INT8."""
        tiles, parts = self.tiles, (self.model.positions_high, self.model.positions_low)
        units = [pad(part, len(part), tiles.units * tiles.unit).reshape(-1, tiles.units, tiles.unit)
                 for part in parts]
        return np.stack(units, axis=2).astype(np.int8).tobytes()

    def _ones_bytes(self) -> bytes:
        """A row of ones where positions are tokens."""
        row = np.zeros((1, self.plan.ones.words * self.config.rows), np.int8)
        row[0, :self.plan.valid] = 1
        return activation_words(row, self.config)

    def _identity(self) -> bytes:
        """Weights that put upper and lower bytes of a unit together."""
        one = np.eye(self.tiles.unit, dtype=np.int64)
        return weight_tiles(np.concatenate([POSITION_HIGH * one, one]), self.config)

    def _norm(self, norm: QuantizedNorm) -> bytes:
        beats = self.tiles.width_beats
        return b"".join(column_constants(words, bias, self.config, beats) for words, bias in (
            (norm.words, norm.bias), (norm.smooth, None), (norm.measure, None)))

    def _data(self, name: str) -> tuple[bytes, bytes, bytes]:
        """Bytes of weights, column constants and vectors of a product."""
        kind = name.rstrip("0123456789.")
        index, _, group = name[len(kind):].partition(".")
        layer = self.model.layers[int(index)]
        if kind in "qkv":
            return self._heads(getattr(layer, kind), kind)
        if kind == "out":
            return self._rows_of_heads(layer.out)
        part = getattr(layer.groups[int(group)], kind)
        if kind == "down":
            return self._linear(part, part.words, part.bias, self.tiles.width_beats)
        weight, constants, _ = self._linear(part, part.words, None, self.tiles.group_beats)
        vectors = vector_words(part.bias[None], self.config, self.tiles.group_beats)
        table = layer.groups[int(group)].gelu.astype("<i2").tobytes()
        return weight, constants, vectors + table

    def _linear(self, layer: Biased | Projection, words: Ints, bias: Ints | None, beats: int
                ) -> tuple[bytes, bytes, bytes]:
        return (weight_tiles(layer.weight, self.config),
                column_constants(words, bias, self.config, beats), b"")

    def _heads(self, layer: Biased | Projection, kind: str) -> tuple[bytes, bytes, bytes]:
        """Columns of each head padded to whole tiles."""
        config, tiles, model = self.config, self.tiles, self.model
        size = tiles.head_out * config.cols if kind == "v" else tiles.head_in * config.rows
        beats = tiles.value_beats if kind == "v" else tiles.query_beats

        def padded(x: Ints) -> Ints:
            return pad_columns(x, model.head_dim, size)

        vectors = (vector_words(padded(layer.bias)[None], config, beats)
                   if isinstance(layer, Biased) else b"")
        return (weight_tiles(padded(layer.weight), config),
                column_constants(padded(layer.words), None, config, beats), vectors)

    def _rows_of_heads(self, layer: Projection) -> tuple[bytes, bytes, bytes]:
        """Rows of each head padded to whole contraction tiles."""
        model, size = self.model, self.tiles.head_in * self.config.rows
        weight = pad_rows(layer.weight, model.head_dim, size)
        return (weight_tiles(weight, self.config), column_constants(
            layer.words, layer.bias, self.config, self.tiles.width_beats), b"")


