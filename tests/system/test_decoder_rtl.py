"""Whole decoders on the RTL: logits, tokens and memories equal the functional device's."""
import dataclasses

import numpy as np
import pytest

from systolith.hw.config import MEMORIES
from systolith.hw.configs import get_config
from systolith.sim.measure import Measure
from systolith.sim.rtl import RtlDevice
from systolith.sw.decoder import Session, compile_decoder
from systolith.sw.models import load_model
from systolith.sw.runtime.functional import FunctionalDevice, compare_memories
from tests.sw.decoders import compiled as random_compiled
from tests.sw.decoders import random_tokens

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def sessions(compiled, rtl):
    """Sessions on the RTL and on the functional device, from the same random memories."""
    functional, rng = FunctionalDevice(compiled.config), np.random.default_rng(1)
    for region in MEMORIES:
        if region.name != "ACC":
            data = rng.bytes(rtl.size(region))
            rtl.write(region, 0, data)
            functional.write(region, 0, data)
    return Session(compiled, rtl), Session(compiled, functional)


def check(rtl, functional, ids):
    result, expected = rtl.prefill(ids), functional.prefill(ids)
    np.testing.assert_array_equal(result.logits, expected.logits)
    assert result.token == expected.token
    # Accumulators are left out: stale sums of an earlier run differ.
    assert set(compare_memories(rtl.device, functional.device)) <= {"ACC"}
    return result


@pytest.mark.parametrize("kind", SIGNS)
def test_mathformer_problems(kind):
    """Six problems of each model, until the answer ends, with stalls at random."""
    model, config = load_model(f"mathformer-{kind}"), get_config("tiny")
    compiled = compile_decoder(model, config)
    with RtlDevice(config, stall_percent=30, seed=5) as device:
        rtl, functional = sessions(compiled, device)
        for a, b in ((7, 8), (9, 3), (5, 5), (6, 1), (8, 2), (4, 9)):
            rtl.restart()
            functional.restart()
            result = check(rtl, functional, model.encode(f"{a}{SIGNS[kind]}{b}="))
            while model.decode([result.token]) != "</s>" and rtl.position < 12:
                result = check(rtl, functional, [result.token])


@pytest.mark.parametrize("config", [
    get_config("tiny"), get_config("tall"),
    get_config("sim16").replace(name="few-weights", wgt_depth=512)], ids=lambda each: each.name)
def test_streamed_weights(config):
    """Two layers of glassllm, whose weights come out of external memory, with stalls at random."""
    model = load_model("glassllm")
    weights = dataclasses.replace(model.weights, layers=model.weights.layers[:2])
    compiled = compile_decoder(dataclasses.replace(model, weights=weights), config, context=48)
    assert compiled.residents.streamed
    ids = model.encode(model.default_prompt)[:13]
    with RtlDevice(config, stall_percent=20, seed=3) as device:
        rtl, functional = sessions(compiled, device)
        result = check(rtl, functional, ids)
        check(rtl, functional, [result.token])


@pytest.mark.parametrize(("name", "config"), [
    ("glassllm-pt", "sim16"), ("mathformer-div", "sim16"), ("mathformer-mul", "tall")])
def test_resident_weights(name, config):
    """A prompt of ragged length and two steps."""
    model = load_model(name)
    compiled = compile_decoder(model, get_config(config))
    assert not compiled.residents.streamed
    with RtlDevice(compiled.config, stall_percent=10, seed=2) as device:
        rtl, functional = sessions(compiled, device)
        result = check(rtl, functional, model.encode(model.default_prompt)[:19])
        for _ in range(2):
            result = check(rtl, functional, [result.token])


@pytest.mark.parametrize("config", [
    get_config("tiny"), get_config("tiny").replace(name="streamed", wgt_depth=256)],
    ids=lambda each: each.name)
@pytest.mark.parametrize("stalls", [0, 30])
def test_columns_with_units_of_their_own(config, stalls):
    """A random decoder with a few large columns, of ragged sizes; a prompt and two steps."""
    compiled = random_compiled(config)
    assert compiled.model.columned
    assert compiled.residents.streamed == (config.name == "streamed")
    with RtlDevice(config, stall_percent=stalls, seed=7) as device:
        rtl, functional = sessions(compiled, device)
        result = check(rtl, functional, random_tokens(7))
        for _ in range(2):
            result = check(rtl, functional, [result.token])


@pytest.mark.slow
def test_smollm2_prefill_and_decode():
    """16 tokens, then one: weights of 134 MB come out of external memory at 16 bytes a cycle."""
    pytest.importorskip("gguf")
    model, config = load_model("smollm2"), get_config("sim16")
    compiled = compile_decoder(model, config, context=48)
    ids = (model.encode(model.default_prompt) * 16)[:16]
    with RtlDevice(config) as device:
        rtl, functional = Session(compiled, device), Session(compiled, FunctionalDevice(config))
        result = check(rtl, functional, ids)
        result = check(rtl, functional, [result.token])
        bus = result.counters.move_bytes / (config.bus_bytes * result.counters.cycles)
        assert bus > 0.95


@pytest.mark.slow
def test_glassllm_prefill_and_decode():
    """One prefill of ragged length, four steps, and the use of the array."""
    model, config = load_model("glassllm"), get_config("sim16")
    compiled = compile_decoder(model, config)
    ids = [token for prompt in model.prompts for token in model.encode(prompt)][:99]
    with RtlDevice(config) as device:
        rtl, functional = sessions(compiled, device)
        result = check(rtl, functional, ids)
        assert Measure(config, result.macs, result.counters).utilization > 0.85
        for _ in range(4):
            result = check(rtl, functional, [result.token])
            assert Measure(config, result.macs, result.counters).utilization > 0.5
