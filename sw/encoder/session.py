"""Texts in, embeddings out."""
from collections.abc import Callable, Sequence

import numpy as np

from systolith.sw.encoder.compiled import CompiledEncoder, compile_encoder
from systolith.sw.encoder.quantize import quantize_encoder
from systolith.sw.encoder.scales import calibrate_encoder
from systolith.sw.models.bert import Encoder
from systolith.sw.reference.bert import unit
from systolith.sw.reference.encoder import UNIT_BITS, QuantizedEncoder
from systolith.sw.reference.numerics import Ints
from systolith.sw.reference.weights import Floats
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device


def quantized_encoder(encoder: Encoder) -> QuantizedEncoder:
    """The integer encoder, calibrated on the model's own samples."""
    return quantize_encoder(encoder.weights, calibrate_encoder(encoder.weights,
                                                               encoder.calibration()))


class EncoderSession:
    """An encoder on a device. A program is compiled for each length of a text, once.

    Parameters
    ----------
    encoder : Encoder
    device : Device
        A configuration with external memory.
    max_cycles : int
        Cycles after which a run is given up.

    Attributes
    ----------
    counters : Counters
        Of the last text.
    """

    def __init__(self, encoder: Encoder, device: Device, *, max_cycles: int = DEFAULT_MAX_CYCLES):
        self.encoder, self.device, self.max_cycles = encoder, device, max_cycles
        self.model = quantized_encoder(encoder)
        self.counters = Counters()
        self._programs: dict[int, CompiledEncoder] = {}
        self._loaded: int | None = None

    def program(self, length: int) -> CompiledEncoder:
        """The program for texts of ``length`` tokens.

        Raises
        ------
        CompileError
            When it does not fit the device's configuration.
        """
        if length not in self._programs:
            self._programs[length] = compile_encoder(self.model, self.device.config, length=length,
                                                     name=self.encoder.name)
        return self._programs[length]

    def embed(self, texts: Sequence[str],
              progress: Callable[[int, int], None] | None = None) -> Floats:
        """Unit vectors (texts, d).

        Parameters
        ----------
        progress : function of (texts done, texts), optional

        Raises
        ------
        ModelError
            When a text is empty or too long.
        """
        ids = [self.encoder.encode(text) for text in texts]
        vectors = []
        for number, tokens in enumerate(ids, start=1):
            vectors.append(as_floats(self._run(tokens)))
            if progress is not None:
                progress(number, len(ids))
        return np.array(vectors).reshape(len(ids), self.model.width)

    def similarity(self, first: str, second: str) -> float:
        """Cosine of the angle between the embeddings of two texts, -1 to 1."""
        a, b = self.embed([first, second])
        return float(a @ b)

    def _run(self, ids: Sequence[int]) -> Ints:
        program = self.program(len(ids))
        if self._loaded != len(ids):
            program.load(self.device)
            self._loaded = len(ids)
        output, self.counters = program.embed(self.device, ids, self.max_cycles)
        return output.astype(np.int64)


def as_floats(vector: Ints) -> Floats:
    """INT16 (..., d), Q0.15, as unit vectors."""
    return unit(vector / (1 << UNIT_BITS))
