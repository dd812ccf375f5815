"""A decoder in three ways: floating point, INT8 operands with floating point between, the machine.

The machine's side is the integer reference, which equals the devices byte for byte.
"""
from collections.abc import Callable, Sequence
from typing import Self

from systolith.sw.decoder.choose import choose
from systolith.sw.decoder.samples import calibration_samples
from systolith.sw.decoder.simulate import SimulatedDecoder
from systolith.sw.models.model import Model
from systolith.sw.reference import llama
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.reference.quantized_decoder import QuantizedDecoder
from systolith.sw.reference.weights import Floats, LlamaWeights

#: Takes the new tokens of a text, from its first on, and gives the best token after them.
Step = Callable[[Sequence[int]], int]


class Ways:
    """The same decoder in floating point, in INT8, and in the integers of the machine.

    Parameters
    ----------
    weights : LlamaWeights
    integers : QuantizedDecoder
    """

    def __init__(self, weights: LlamaWeights, integers: QuantizedDecoder):
        self.weights, self.integers = weights, integers
        self._simulated = SimulatedDecoder(integers)

    @classmethod
    def of(cls, model: Model) -> Self:
        """Quantized as for the machine; no configuration changes the integers."""
        samples = calibration_samples(model)
        integers, _ = choose(model.weights, samples)
        return cls(model.weights, integers)

    def logits(self, ids: Sequence[int]) -> tuple[Floats, Floats, Floats]:
        """Logits (T, V) of tokens ``ids`` (T,), a text from its first token on, in each way."""
        scale = self.integers.logit_scale
        return (llama.forward(ids, self.weights), self._simulated.decode(ids, Cache()) * scale,
                decode(ids, self.integers, Cache()).logits * scale)

    def steps(self) -> tuple[Step, Step, Step]:
        """A new text in each way."""
        known: list[int] = []
        rounded, integer = Cache(), Cache()

        def exact(new: Sequence[int]) -> int:
            known.extend(new)
            return int(llama.forward(known, self.weights)[-1].argmax())

        return (exact, lambda new: int(self._simulated.decode(new, rounded)[-1].argmax()),
                lambda new: int(decode(new, self.integers, integer).tokens[-1]))
