"""An attention layer of a loaded model, compiled and with its inputs."""
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.sw.compiler import CompiledAttention, calibrate, compile_attention
from systolith.sw.models import Model
from systolith.sw.reference.weights import Floats


@dataclass(frozen=True)
class PreparedLayer:
    """A compiled layer with the residual ``x`` and the normalized ``h``, float (T, d) each."""

    index: int
    compiled: CompiledAttention
    x: Floats
    h: Floats


def prepare_layer(model: Model, index: int, ids: Sequence[int], config: Config) -> PreparedLayer:
    """Calibrate on the model's own prompts and these tokens, compile, and verify.

    Raises
    ------
    ModelError
        When the model has no such layer or does not take these tokens.
    CompileError
        When the layer does not fit the configuration.
    """
    x, h = model.layer_input(ids, index)
    weights = model.attention(index)
    scales = calibrate(weights, model.calibration(index))
    compiled = compile_attention(weights, scales, config, length=len(ids),
                                 name=f"{model.name} layer {index}")
    return PreparedLayer(index, compiled, x, h)
