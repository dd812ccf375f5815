"""Whole attention layers on the RTL: output and memories equal the functional device's bytes."""
import numpy as np
import pytest

from systolith.hw.config import MEMORIES
from systolith.hw.configs import get_config
from systolith.sim.rtl import RtlDevice
from systolith.sw.compiler import calibrate, compile_attention
from systolith.sw.models import MODELS, load_model
from systolith.sw.runtime.functional import FunctionalDevice, compare_memories
from tests.sw.layers import compiled, random_layer

NAMES = ("tiny", "tall", "sim16")


def lengths(config):
    return sorted({1, 3, config.rows - 1, config.rows, config.rows + 1, 37, 128})


@pytest.fixture(scope="module")
def devices():
    """One RTL device a configuration and stall rate, kept for the module."""
    opened = {}

    def get(config, stall=0):
        if (config, stall) not in opened:
            opened[config, stall] = RtlDevice(config, stall_percent=stall, seed=7)
        return opened[config, stall]

    yield get
    for device in opened.values():
        device.close()


#: Bytes of each memory that get random content before a run and are compared after it. The layers
#: lie in the first words; the host's port takes one word after the other.
LIMIT = 1 << 15


def fill(rng, *targets):
    """The same random bytes in the memories of all devices that a host can write."""
    for region in MEMORIES:
        if region.name != "ACC":
            data = rng.bytes(min(targets[0].size(region), LIMIT))
            for device in targets:
                device.write(region, 0, data)


def run_both(layer, rtl, x, h):
    """The layer on both devices, from the same memories; the RTL's result."""
    functional = FunctionalDevice(layer.config)
    fill(np.random.default_rng(1), rtl, functional)
    expected = layer.run(functional, x, h)
    result = layer.run(rtl, x, h)
    assert expected.bit_exact
    assert result.mismatches == 0
    # Accumulators are left out: stale sums of an earlier run differ.
    assert set(compare_memories(rtl, functional, LIMIT)) <= {"ACC"}
    return result


@pytest.mark.parametrize("stall", [0, 30])
@pytest.mark.parametrize(("name", "length"), [
    (name, length) for name in NAMES for length in lengths(get_config(name))])
def test_every_length(devices, name, length, stall):
    """Sizes that divide nothing: width 24, three heads of 10 on one."""
    rng = np.random.default_rng(length)
    config = get_config(name)
    layer, (x, h) = compiled(rng, random_layer(rng), config, length)
    result = run_both(layer, devices(config, stall), x, h)
    assert result.counters.cycles * config.peak_macs_per_cycle > layer.macs


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_random_layers(devices, name, seed):
    """Heads, groups, biases, padding and masks at random."""
    rng = np.random.default_rng([seed, *name.encode()])
    config, rotary = get_config(name), bool(seed % 2)
    weights = random_layer(
        rng, width=int(rng.integers(1, 40)), kv_heads=2, heads=2 * int(rng.integers(1, 3)),
        rotary=rotary, head_dim=int(rng.integers(1, 11)) * 2, bias=bool(seed < 2),
        causal=bool(rng.integers(2)), pairs="halves")
    length = int(rng.integers(2, 41))
    layer, (x, h) = compiled(rng, weights, config, length, valid=int(rng.integers(1, length)))
    run_both(layer, devices(config), x, h)


def real_layer(model, layer, config):
    """A layer of a pretrained model compiled for its default prompt: (compiled, x, h)."""
    ids = model.encode(model.default_prompt)
    x, h = model.layer_input(ids, layer)
    scales = calibrate(model.attention(layer), model.calibration(layer))
    return compile_attention(model.attention(layer), scales, config, length=len(ids)), x, h


@pytest.mark.parametrize("layer", range(4))
def test_every_layer_of_glassllm(devices, layer):
    config = get_config("sim16")
    compiled_layer, x, h = real_layer(load_model("glassllm"), layer, config)
    result = run_both(compiled_layer, devices(config), x, h)
    assert result.mean_abs_error < 0.02


@pytest.mark.parametrize("name", ["tiny", "sim16"])
@pytest.mark.parametrize("model", [name for name in MODELS if name.startswith("mathformer")])
def test_every_mathformer(devices, model, name):
    config = get_config(name)
    compiled_layer, x, h = real_layer(load_model(model), 0, config)
    run_both(compiled_layer, devices(config), x, h)
