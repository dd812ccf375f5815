"""Where the weights of a decoder are while a run uses them: they stay in the core, or they come.

What does not stay goes through two rings, one of weight memory and one of column constants, in
chunks of output tiles. A load waits for nothing but the last use of the words it overwrites, so
loads run ahead as far as the rings are long.
"""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Load
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.fields import spans
from systolith.sw.compiler.image import move_fields
from systolith.sw.compiler.ring import Ring
from systolith.sw.decoder.residents import LinearSize, Residents


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Byte addresses in external memory of a linear layer's weights and column constants."""

    weight: int
    constants: int


@dataclass(frozen=True)
class Chunk:
    """Output tiles ``first`` to ``last`` of a linear layer: in weight memory from word ``base`` on
    when ``loads`` have run."""

    first: int
    last: int
    base: int
    loads: tuple[Command, ...] = ()


class Weights:
    """The weights of one run, asked for in the order of their use.

    Parameters
    ----------
    residents : Residents
        What stays, and the rings.
    stored : mapping of str to Stored
    sizes : mapping of str to LinearSize
    config : Config
    """

    def __init__(self, residents: Residents, stored: Mapping[str, Stored],
                 sizes: Mapping[str, LinearSize], config: Config):
        self.residents, self.stored, self.sizes = residents, stored, sizes
        self.config = config
        self._rings = tuple(Ring(ring) for ring in residents.rings)

    def chunks(self, name: str, most: int | None = None) -> Iterator[Chunk]:
        """The output tiles of a linear layer, at most ``most`` at once."""
        place, size = self.residents.linears.get(name), self.sizes[name]
        step = size.tiles_out if most is None else most
        if place is None:
            step = min(step, self.residents.chunk_words // size.tiles_in,
                       self.residents.chunk_beats * self.config.lanes // self.config.cols)
        for first, last in spans(size.tiles_out, step):
            if place is not None:
                yield Chunk(first, last, place.weight.base + first * size.tiles_in)
                continue
            words = (last - first) * size.tiles_in
            buffer, load = self._fetch(Region.WGT, words, self.stored[name].weight,
                                       first * size.tiles_in)
            yield Chunk(first, last, buffer.base, (load,))

    def constants(self, name: str, first: int = 0, beats: int | None = None
                  ) -> tuple[int, tuple[Command, ...]]:
        """First word of the column constants of ``beats`` beats from the ``first`` on, and what
        must have run before; all beats by default."""
        place, size = self.residents.linears.get(name), self.sizes[name]
        if place is not None:
            return place.constants.base + first, ()
        buffer, load = self._fetch(Region.CONST, size.beats if beats is None else beats,
                                   self.stored[name].constants, first)
        return buffer.base, (load,)

    def _fetch(self, region: Region, words: int, address: int, skip: int) -> tuple[Buffer, Command]:
        ring = next(ring for ring in self._rings if ring.buffer.region == region)
        buffer = ring.take(words)
        start = address + skip * self.config.word_bytes(region)
        return buffer, Load(**move_fields(buffer, start, self.config))
