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
from systolith.sw.compiler.layout import activation_words, vector_words
from systolith.sw.compiler.tokens import token_loads
from systolith.sw.encoder.data import EncoderData, ProductBytes
from systolith.sw.encoder.plan import EncoderPlan, Slot
from systolith.sw.reference.encoder import QuantizedEncoder
from systolith.sw.reference.numerics import exp2_table


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
        self.data = EncoderData(plan.tiles, model.head_dim, config)
        self.image = Image(config) if image is None else image
        self.words = self._add("words", Region.VEC, vector_words(
            model.words, config, self.tiles.width_beats))
        self._positions = self._add("positions", Region.ACT, self.data.positions(
            model.positions_high, model.positions_low))
        self._ones = self.image.write("ones", plan.ones, self._ones_bytes())
        self.output = self.image.place(self._output_buffer())
        self._places: dict[str, Slot] = {}
        self._count = 0

    def place(self, name: str) -> Slot:
        """Where the weights that were fetched last under that name are."""
        return self._places[name]

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
        plan, model = self.plan, self.model
        self.image.add("identity", plan.identity, self.data.identity())
        self.image.add("exp2", plan.table, exp2_table().astype("<i2").tobytes())
        self.image.add("pool in", plan.pool_in, self.data.pool(model.pool_words))
        self.image.add("pool out", plan.pool_out, self.data.pool(model.unpool_words))
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
        self.image.add(f"norm{number}", self._norm_place(number), self.data.norm(norm))
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

    def next_output(self) -> Place:
        """Another place in external memory, to which :meth:`finish` stores from now on."""
        self.output = self.image.place(self._output_buffer())
        return self.output

    def _output_buffer(self) -> Buffer:
        return Buffer(Region.VEC, self.plan.u.base, self.tiles.width_beats)

    def _loads(self) -> list[Command]:
        loads, self.image.loads = self.image.loads, []
        return loads

    # Bytes -----------------------------------------------------------------------------------

    def _add(self, name: str, region: Region, data: bytes) -> Place:
        words = len(data) // self.config.word_bytes(region)
        return self.image.write(name, Buffer(region, 0, words), data)

    def _ones_bytes(self) -> bytes:
        """A row of ones where positions are tokens."""
        row = np.zeros((1, self.plan.ones.words * self.config.rows), np.int8)
        row[0, :self.plan.valid] = 1
        return activation_words(row, self.config)

    def _data(self, name: str) -> ProductBytes:
        """Bytes of weights, column constants and vectors of a product."""
        return self.data.product(name, self.model.layers, self.tiles.width_beats)
