"""What one core of a chip has of a compiled decoder: its places, its image, its commands."""
from collections.abc import Sequence

from systolith.hw.config import Config
from systolith.hw.isa import Command
from systolith.sw.compiler.skipping import ZeroSkipper
from systolith.sw.decoder.image import DecoderImage
from systolith.sw.decoder.lowering import DecoderLowering
from systolith.sw.decoder.plan import Scratch
from systolith.sw.decoder.residents import place_residents
from systolith.sw.decoder.share import Share
from systolith.sw.decoder.weights import Weights
from systolith.sw.reference.quantized_decoder import QuantizedDecoder


class DecoderCore:
    """The share of one core, laid out.

    Parameters
    ----------
    model : QuantizedDecoder
        The whole decoder.
    share : Share
    config : Config
    context : int
        Positions that the cache holds.
    what : str
        For messages.
    before : DecoderCore, optional
        The core before: external memory is shared.

    Raises
    ------
    CapacityError
        When a memory is too small.
    """

    def __init__(self, model: QuantizedDecoder, share: Share, config: Config, context: int,
                 what: str, before: "DecoderCore | None" = None):
        self.share, self.config, self.model = share, config, share.of(model)
        self.residents = place_residents(self.model, config, context, what)
        self.image: DecoderImage = DecoderImage(self.model, self.residents, config, share,
                                  before.image if before else None)
        self._skipper = ZeroSkipper(config, self.image.image.sections)
        self.setup: Sequence[Command] = list(self._skipper.skip(self.image.setup))

    def parts(self, position: int, scratch: Scratch, *, all_logits: bool
              ) -> dict[str, list[Command]]:
        """Commands of the embedding, the parts of each layer and the logits, in order."""
        image, skipper = self.image, self._skipper.fork()
        weights = Weights(self.residents, image.stored, image.sizes, self.config)
        lowering = DecoderLowering(self.model, self.residents, scratch, weights, position,
                                   self.config, self.share)
        external = image.external
        parts = {"embedding": lowering.inputs(external.embedding, external.rope)}
        for index in range(len(self.model.layers)):
            parts |= {f"layer {index} {name}": part for name, part in lowering.layer(index)}
        rows = 0 if all_logits else scratch.length - 1, scratch.length
        parts["logits"] = lowering.logits(rows, external.logits if all_logits else None)
        return {name: list(skipper.skip(part)) for name, part in parts.items()}
