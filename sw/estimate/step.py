"""Cycles of one decoder step in closed form, for models and chips that are too large to compile.

A step with one row is a chain: each product waits for a pass over the result of the one before. So
the cycles of a layer are the beats of the longest way through it, and a latency at each of its
links. The order of the commands is that of ``systolith.sw.decoder``; ``docs/scaling.md`` compares
with the RTL.
"""
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.isa import WORDS, Engine
from systolith.sw.reference.quantized_decoder import QuantizedDecoder

#: Cycles from a retirement to the first beat of a command that waits for it.
HAND_OVER = 3

#: Cycles from the retirement that a send waits for to the first beat of who waits for its data, one
#: beat of it, without those of the beats that follow.
SEND_LATENCY = 25

#: Cycles from the start of one short pass to that of the next.
PASS_CYCLES = WORDS[Engine.VECTOR] + 2

#: Cycles before the first layer that are not beats: queues, external memory, the first measure.
START_CYCLES = 48


@dataclass(frozen=True, kw_only=True)
class DecoderShape:
    """Sizes of a decoder with SwiGLU and grouped heads; ``hidden`` between its two halves."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    vocabulary: int

    @classmethod
    def of(cls, model: QuantizedDecoder) -> "DecoderShape":
        """The sizes of a model."""
        return cls(layers=len(model.layers), width=model.width, heads=model.heads,
                   kv_heads=model.kv_heads, head_dim=model.head_dim, hidden=model.hidden,
                   vocabulary=model.vocabulary)

    @property
    def layer_weights(self) -> int:
        """Weights of a layer, a byte each."""
        mixed, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return self.width * (2 * mixed + 2 * keys + 3 * self.hidden)

    @property
    def head_weights(self) -> int:
        """Weights of the last linear layer."""
        return self.width * self.vocabulary

    def cache_bytes(self, length: int) -> int:
        """Keys and values of a layer."""
        return 2 * self.kv_heads * self.head_dim * length


@dataclass(frozen=True)
class Chain:
    """Cycles of a part of a step by what they are spent on.

    Parameters
    ----------
    array, vector : int
        Beats of products and passes that something waits for.
    latency : int
        From the last beat of one command to the first of the next.
    mesh : int
        Beats and latency of what comes from other cores.
    """

    array: int = 0
    vector: int = 0
    latency: int = 0
    mesh: int = 0

    def __add__(self, other: "Chain") -> "Chain":
        return Chain(self.array + other.array, self.vector + other.vector,
                     self.latency + other.latency, self.mesh + other.mesh)

    def __mul__(self, count: int) -> "Chain":
        return Chain(self.array * count, self.vector * count, self.latency * count,
                     self.mesh * count)

    @property
    def cycles(self) -> int:
        """All of them."""
        return self.array + self.vector + self.latency + self.mesh


class StepModel:
    """A step of a decoder whose columns are shared out over ``cores`` cores.

    Parameters
    ----------
    shape : DecoderShape
    config : Config
        Sizes of a core.
    cores : int
        Cores that have the layer together.
    context : int
        Positions that are attended to.
    """

    def __init__(self, shape: DecoderShape, config: Config, cores: int, context: int):
        self.shape, self.config, self.cores, self.context = shape, config, cores, context

    def step(self) -> Chain:
        """The whole step, in one chip."""
        return self.start(self.cores) + self.layer() * self.shape.layers + self.head()

    def start(self, sharing: int) -> Chain:
        """The token's row, and its measure; so many cores fetch it out of one memory."""
        row = self._lanes(self.shape.width)
        loads = 2 * self.shape.width * sharing // self.config.bus_bytes
        return Chain(vector=row, latency=START_CYCLES + self._reduced, mesh=loads)

    def layer(self) -> Chain:
        """One layer."""
        attention, beats = self._attention()
        return (self._norm() + attention + self._output(attention.cycles - beats) + self._norm()
                + self._feed_forward())

    def head(self) -> Chain:
        """Last norm, logits, and the largest."""
        shape, last = self.shape, self._lanes(self.shape.vocabulary)
        beats = self._product(shape.width, self._share(shape.vocabulary))
        return self._norm() + Chain(
            array=beats, vector=last, mesh=self._gather(0),
            latency=self._multiplied + self._passed + self._reduced)

    # Links of the chain -----------------------------------------------------------------------

    @property
    def _multiplied(self) -> int:
        return self.config.matrix_latency + HAND_OVER

    @property
    def _passed(self) -> int:
        return self.config.pass_latency + HAND_OVER

    @property
    def _reduced(self) -> int:
        return self.config.reduction_latency + HAND_OVER

    def _share(self, columns: int) -> int:
        """Columns of the core that has most."""
        tiles = -(-columns // self.config.cols)
        return min(columns, -(-tiles // self.cores) * self.config.cols)

    def _lanes(self, elements: int) -> int:
        return -(-elements // self.config.lanes)

    def _product(self, contraction: int, columns: int) -> int:
        return -(-contraction // self.config.rows) * -(-columns // self.config.cols)

    def _gather(self, size: int) -> int:
        """``size`` bytes in every core, of which the others have all but its own part: each core
        takes a beat of the bus a cycle."""
        if self.cores == 1:
            return 0
        return SEND_LATENCY + size * (self.cores - 1) // self.cores // self.config.bus_bytes

    # Parts of a layer ---------------------------------------------------------------------------

    def _norm(self) -> Chain:
        return Chain(vector=self._lanes(self.shape.width), latency=self._passed)

    def _attention(self) -> tuple[Chain, int]:
        """From the INT8 row to the mixed values, and the array's beats in it. Heads of a core
        overlap: either each pass of each but the first adds its shortest time, or the array is
        never without work."""
        shape, size, n = self.shape, self.shape.head_dim, self.context
        heads = -(-shape.heads // self.cores)
        kv_heads = -(-shape.kv_heads // self.cores)
        together = -(-heads // kv_heads)
        project = self._product(shape.width, size)
        score, mix = self._product(size, n), self._product(n, size)
        array = kv_heads * project + together * project + score + mix
        vector = 2 * self._lanes(size) + 2 * self._lanes(n)
        more = (heads - 1) * max(2 * PASS_CYCLES, score + mix)
        least = (heads + 2 * kv_heads) * project + heads * (score + mix)
        latency = 3 * (self._multiplied + self._passed) + self._reduced
        return Chain(array=max(array, least - more), vector=vector + more,
                     latency=latency), least

    def _output(self, idle: int) -> Chain:
        """Mixed values are collected; where the product is short, each core has all columns.

        ``idle`` cycles the array had before, for the products of all heads but the last.
        """
        shape, mixed = self.shape, self.shape.heads * self.shape.head_dim
        whole = self._product(mixed, shape.width)
        own = self._product(mixed, self._share(shape.width))
        collected = self._gather(mixed)
        row = self._lanes(shape.width)
        split = Chain(array=own, vector=self._lanes(self._share(shape.width)) + row,
                      latency=self._multiplied + self._passed + self._reduced,
                      mesh=collected + self._gather(2 * shape.width))
        last = whole // shape.heads
        early = min(whole // self.cores - last, idle)
        # That of the last of the own heads runs while the others' values come.
        rest = whole - early - min(last, collected)
        everywhere = Chain(array=rest, vector=row, mesh=collected,
                           latency=self._multiplied + self._reduced)
        return min(split, everywhere, key=lambda chain: chain.cycles)

    def _feed_forward(self) -> Chain:
        shape, hidden, width = (self.shape, self._share(self.shape.hidden),
                                self._share(self.shape.width))
        down = self._product(shape.hidden, width)
        # The first piece of the INT8 row; the passes over the others run beside the product.
        pieces = max(PASS_CYCLES, min(self._lanes(hidden), self._lanes(shape.hidden) // 4))
        chain = Chain(
            array=2 * self._product(shape.width, hidden) + max(down, self._lanes(shape.hidden)),
            vector=self._lanes(hidden) + pieces + self._lanes(shape.width),
            latency=2 * self._multiplied + self._passed + 2 * self._reduced)
        if self.cores == 1:
            return chain
        # Magnitudes go round, then columns under the pass that combines them; at the end columns
        # of the residual, which are measured anew.
        columns = max(0, self._gather(2 * shape.hidden) - SEND_LATENCY - self._reduced)
        return chain + Chain(vector=self._lanes(hidden) + self._lanes(width),
                             latency=self._reduced + self._passed,
                             mesh=self._gather(0) + columns + self._gather(2 * shape.width))
