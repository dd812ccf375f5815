"""The closed form of a decoder's step against the cycle model, which equals the RTL."""
import pytest

from systolith.hw.configs import get_config
from systolith.sw.decoder import CompiledDecoder, compile_decoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.estimate import estimate
from systolith.sw.estimate.step import Chain, DecoderShape, StepModel
from systolith.sw.models import load_model
from tests.sw.decoders import quantized, random_decoder

#: How far the closed form may be off.
TOLERANCE = 0.06


def deviation(decoder, position):
    """The closed form over the cycle model, less one."""
    cycles = estimate(decoder.config, decoder.run(Shape(1, position)).program.commands).cycles
    model = StepModel(DecoderShape.of(decoder.model), decoder.config, 1, position + 1)
    return model.step().cycles / cycles - 1


@pytest.mark.parametrize("position", [10, 50, 100, 127])
def test_glassllm(position):
    decoder = compile_decoder(load_model("glassllm"), get_config("sim16"))
    assert abs(deviation(decoder, position)) < TOLERANCE


@pytest.mark.parametrize("sizes", [
    {"width": 256, "heads": 8, "kv_heads": 2, "head_dim": 32, "hidden": 683, "layers": 2},
    {"width": 576, "heads": 9, "kv_heads": 3, "head_dim": 64, "hidden": 1536, "layers": 1}])
def test_wider_decoders(sizes):
    model = quantized(random_decoder(large=1.0, **sizes))
    assert abs(deviation(CompiledDecoder("random", model, get_config("deep16"), 40), 30)) < (
        TOLERANCE)


def test_cores_share_the_array_but_not_the_latency():
    shape = DecoderShape.of(compile_decoder(load_model("glassllm"), get_config("sim16")).model)
    chains = [StepModel(shape, get_config("sim16"), cores, 101).step() for cores in (1, 2, 4)]
    assert chains[0].cycles > chains[1].cycles > chains[2].cycles
    assert chains[2].array < 0.4 * chains[0].array
    assert chains[2].latency > chains[0].latency
    assert chains[2].mesh > chains[1].mesh > chains[0].mesh


def test_chains_add_up():
    assert (Chain(1, 2, 3, 4) + Chain(array=5) * 2).cycles == 20
