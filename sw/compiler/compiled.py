"""A compiled attention layer: binding of inputs and outputs, and the comparison."""
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.image import Place
from systolith.sw.compiler.layout import activation_words, from_vector_words, vector_words
from systolith.sw.compiler.plan import Shape
from systolith.sw.compiler.quantize import INT8_MAX, INT16_MAX, quantize
from systolith.sw.reference.attention import QuantizedAttention, attention, integer_attention
from systolith.sw.reference.weights import AttentionWeights, Floats
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device
from systolith.sw.runtime.program import Program


@dataclass(frozen=True)
class AttentionResult:
    """What a run gave, beside the integer reference and the float layer.

    ``output`` and ``expected`` are INT16 (T, d); errors are those of the dequantized output
    against the float64 layer, over the valid positions.
    """

    output: NDArray[np.int16]
    expected: NDArray[np.int16]
    mean_abs_error: float
    max_abs_error: float
    counters: Counters

    @property
    def mismatches(self) -> int:
        """Elements that differ from the integer reference."""
        return int(np.count_nonzero(self.output != self.expected))

    @property
    def bit_exact(self) -> bool:
        """Whether every output byte equals the integer reference."""
        return self.mismatches == 0


@dataclass(frozen=True)
class CompiledAttention:
    """An attention layer ready to run on a device.

    Parameters
    ----------
    program : Program
    weights : AttentionWeights
        The float layer.
    layer : QuantizedAttention
        The integer layer.
    shape : Shape
    places : mapping of str to Place
        ``h`` and ``x`` where inputs go, ``y`` where the output is.
    """

    program: Program
    weights: AttentionWeights
    layer: QuantizedAttention
    shape: Shape
    places: Mapping[str, Place]

    @property
    def config(self) -> Config:
        """The configuration it was compiled for."""
        return self.program.config

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a run: no padding, no masked scores."""
        return self.program.macs

    def quantize_inputs(self, x: Floats, h: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Residual x and normalized h, float (T, d), as INT16 and INT8.

        Raises
        ------
        CompileError
            When a shape is not the compiled one, or a value is no finite number.
        """
        for name, value in (("x", x), ("h", h)):
            if np.shape(value) != (self.shape.length, self.shape.width):
                raise CompileError(
                    f"input {name} has shape {np.shape(value)}, but the layer was compiled for "
                    f"{(self.shape.length, self.shape.width)}")
            if not np.all(np.isfinite(value)):
                raise CompileError(f"input {name} holds a value that is no finite number")
        return (quantize(x, self.layer.x_scale, INT16_MAX),
                quantize(h, self.layer.h_scale, INT8_MAX))

    def write_inputs(self, device: Device, x: NDArray[np.int64], h: NDArray[np.int64]) -> None:
        """Write INT16 x and INT8 h, (T, d) each, to the device."""
        for name, data in (("x", vector_words(x, self.config)),
                           ("h", activation_words(h, self.config))):
            device.write(self.places[name].memory, self.places[name].offset, data)

    def read_output(self, device: Device) -> NDArray[np.int16]:
        """INT16 (T, d) from the device."""
        place = self.places["y"]
        data = device.read(place.memory, place.offset, place.size)
        return from_vector_words(data, self.config, self.shape.length, self.shape.width)

    def run(self, device: Device, x: Floats, h: Floats,
            max_cycles: int = DEFAULT_MAX_CYCLES) -> AttentionResult:
        """Run on residual x and normalized h, float (T, d) each, and compare."""
        xi, hi = self.quantize_inputs(x, h)
        self.program.load(device)
        self.write_inputs(device, xi, hi)
        device.run(self.program.commands)
        counters = device.wait(max_cycles)
        return self.compare(self.read_output(device), x, h, counters)

    def compare(self, output: NDArray[np.int16], x: Floats, h: Floats,
                counters: Counters) -> AttentionResult:
        """An output beside the integer reference and the float layer."""
        xi, hi = self.quantize_inputs(x, h)
        expected = integer_attention(hi, xi, self.layer, self.shape.valid).astype(np.int16)
        exact = x + attention(h, self.weights, self.shape.valid)
        error = np.abs(output * self.layer.x_scale - exact)[:self.shape.valid]
        return AttentionResult(output, expected, float(error.mean()), float(error.max()), counters)
