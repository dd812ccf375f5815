"""Weights of one stage of a pipeline, which sees text after text."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Command
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.fields import Span
from systolith.sw.encoder.data import ProductBytes
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.shared_image import SharedImage
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import QuantizedEncoder


class StageStream(WeightStream):
    """Loads of a core that runs the same layers for each text.

    What still is where it was for the text before is not loaded again: column constants of norms,
    and all weights where the core holds those of all its layers at once.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    config : Config
        Of the core.
    image : SharedImage
        Of all cores.
    layers : Span
        First layer, and the one after the last.
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, config: Config,
                 image: SharedImage, layers: Span):
        super().__init__(model, plan, config, image)
        products = sum(4 + 2 * len(layer.groups) for layer in model.layers[slice(*layers)])
        self._stay = products <= len(plan.slots)
        self._first_norm, self._norms = 2 * layers[0], dict[int, int]()
        self._bytes: dict[str, ProductBytes] = {}

    def fetch_norm(self, number: int) -> Iterator[Command]:
        place = self.norm(number)
        if self._norms.get(place) != number:
            self._norms[place] = number
            yield from super().fetch_norm(number)

    def fetch(self, name: str) -> Iterator[Command]:
        if not (self._stay and name in self._places):
            yield from super().fetch(name)

    def _norm_place(self, number: int) -> Buffer:
        # That of the input has a place of its own: it is needed while the text before goes on.
        first, *others = self.plan.norms
        return first if number == self._first_norm else others[number % 2]

    def _data(self, name: str) -> ProductBytes:
        if name not in self._bytes:
            self._bytes[name] = super()._data(name)
        return self._bytes[name]
