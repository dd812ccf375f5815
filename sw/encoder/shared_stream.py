"""Weights that several cores use at once: external memory is read once, the mesh does the rest."""
from collections.abc import Iterator

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.gather import MEET, Gather
from systolith.sw.compiler.image import Image, Place
from systolith.sw.compiler.sharing import even
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import QuantizedEncoder


class SharedImage(Image):
    """An image in external memory in which data of one name are written once.

    Parameters
    ----------
    config : Config
    """

    def __init__(self, config: Config):
        super().__init__(config)
        self._written: dict[str, Place] = {}

    def write(self, name: str, buffer: Buffer, data: bytes) -> Place:
        if name not in self._written:
            self._written[name] = super().write(name, buffer, data)
        return self._written[name]


class SharedStream(WeightStream):
    """The loads of one of several cores that use the same weights at the same places.

    Every core loads an equal part of a product's weights and sends it to all others. Column
    constants and vectors are small, so that each core loads its own.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    config : Config
    image : SharedImage
    number : int
        Of the core.
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, config: Config,
                 image: SharedImage, number: int):
        super().__init__(model, plan, config, image)
        self._mesh = Gather(config, number)

    def _bring(self, name: str, buffer: Buffer, data: bytes) -> Iterator[Command]:
        if buffer.region != Region.WGT:
            yield from super()._bring(name, buffer, data)
            return
        place, size = self.image.write(name, buffer, data), self.config.word_bytes(buffer.region)
        first, last = even(buffer.words, self.config.cores)[self._mesh.number]
        yield MEET
        if last > first:
            self.image.load(buffer, place, first, last - first)
            yield from self._loads()
        yield MEET
        if last > first:
            yield from self._mesh.send(buffer.region, (buffer.base + first) * size, last - first,
                                       size, size)
        yield MEET
