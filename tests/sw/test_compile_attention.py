"""Compiled attention layers on the functional device equal the integer reference, byte for byte."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import SIMULATED, get_config
from systolith.hw.isa import Engine
from systolith.sw.compiler import CompileError, calibrate, compile_attention
from systolith.sw.compiler.plan import Shape
from systolith.sw.models import load_model
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.program import load_program
from tests.sw.layers import ALL_CONFIGS, compiled, dirty_device, random_layer


def lengths(config):
    return sorted({1, 3, config.rows - 1, config.rows, config.rows + 1, 37, 128})


CASES = [(name, length) for name, config in SIMULATED.items() for length in lengths(config)]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("name", "length"), CASES)
def test_every_length(name, length, causal):
    """Sizes that divide nothing: width 24, three heads of 10 on one."""
    rng = np.random.default_rng(length)
    config = SIMULATED[name]
    layer, (x, h) = compiled(rng, random_layer(rng, causal=causal), config, length)
    result = layer.run(dirty_device(config, rng), x, h)
    assert result.mismatches == 0
    assert result.bit_exact


@pytest.mark.parametrize("name", ALL_CONFIGS)
@pytest.mark.parametrize("seed", range(6))
def test_random_layers_after_garbage(name, seed):
    """Heads, groups, sizes, biases, padding, masks and block sizes at random."""
    rng = np.random.default_rng([seed, *name.encode()])
    config, rotary = ALL_CONFIGS[name], bool(rng.integers(2))
    kv_heads = int(rng.integers(1, 4))
    head_dim = int(rng.integers(1, 11)) * 2 if rotary else int(rng.integers(1, 20))
    weights = random_layer(
        rng, width=int(rng.integers(1, 40)), kv_heads=kv_heads, rotary=rotary,
        heads=kv_heads * int(rng.integers(1, 4)), head_dim=head_dim, bias=bool(rng.integers(2)),
        causal=bool(rng.integers(2)), pairs=("halves", "neighbours")[rng.integers(2)])
    length = int(rng.integers(1, 41))
    layer, (x, h) = compiled(rng, weights, config, length, valid=int(rng.integers(1, length + 1)),
                             block_rows=int(rng.choice([1, 3, 8, 32])))
    assert layer.run(dirty_device(config, rng), x, h).mismatches == 0


@pytest.mark.parametrize("valid", [1, 4, 5, 8])
@pytest.mark.parametrize("causal", [True, False])
def test_padding_does_not_change_the_valid_positions(valid, causal):
    rng = np.random.default_rng(valid)
    config = get_config("tiny")
    weights = random_layer(rng, causal=causal)
    layer, (x, h) = compiled(rng, weights, config, 9, valid=valid)
    first = layer.run(FunctionalDevice(config), x, h)
    assert first.bit_exact
    x[valid:], h[valid:] = rng.normal(size=(2, 9 - valid, 24))
    second = layer.run(FunctionalDevice(config), x, h)
    assert np.array_equal(first.output[:valid], second.output[:valid])


@pytest.mark.parametrize("name", SIMULATED)
@pytest.mark.parametrize("layer", range(4))
def test_glassllm(name, layer):
    model, config = load_model("glassllm"), get_config(name)
    ids = model.encode(model.default_prompt)
    x, h = model.layer_input(ids, layer)
    scales = calibrate(model.attention(layer), model.calibration(layer))
    compiled_layer = compile_attention(model.attention(layer), scales, config, length=len(ids))
    result = compiled_layer.run(FunctionalDevice(config), x, h)
    assert result.bit_exact
    assert result.mean_abs_error < 0.02
    assert result.max_abs_error < 0.2


@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div"])
def test_mathformer(kind):
    pytest.importorskip("mathformer")
    model, config = load_model(f"mathformer-{kind}"), get_config("tall")
    ids = model.encode(model.default_prompt)
    x, h = model.layer_input(ids, 0)
    scales = calibrate(model.attention(0), model.calibration(0))
    layer = compile_attention(model.attention(0), scales, config, length=len(ids))
    result = layer.run(FunctionalDevice(config), x, h)
    assert result.bit_exact
    assert result.mean_abs_error < 0.02 * np.abs(x).max()


def test_inputs_that_saturate_stay_bit_exact():
    rng = np.random.default_rng(0)
    config = get_config("tall")
    layer, (x, h) = compiled(rng, random_layer(rng, bias=True), config, 13)
    assert layer.run(FunctionalDevice(config), 1000 * x, 1000 * h).bit_exact
    assert layer.run(FunctionalDevice(config), 0 * x, 0 * h).bit_exact


def test_two_runs_on_one_device_and_a_saved_program(tmp_path):
    rng = np.random.default_rng(0)
    config = get_config("sim16")
    layer, (x, h) = compiled(rng, random_layer(rng), config, 20)
    device = FunctionalDevice(config)
    first = layer.run(device, x, h)
    assert np.array_equal(layer.run(device, x, h).output, first.output)
    layer.program.save(tmp_path / "layer.zip")
    program = load_program(tmp_path / "layer.zip")
    assert program.digest == layer.program.digest
    assert program.commands == layer.program.commands


def test_external_memory_decides_whether_there_are_loads():
    rng = np.random.default_rng(0)
    weights = random_layer(rng)
    with_ext, _ = compiled(rng, weights, get_config("tiny"), 5)
    assert {section.memory for section in with_ext.program.sections} == {"ext"}
    assert with_ext.program.commands[Engine.MOVE]
    config = get_config("tiny").replace(name="bare", ext_bytes=0)
    without, _ = compiled(rng, weights, config, 5)
    assert not without.program.commands[Engine.MOVE]
    assert {section.memory for section in without.program.sections} == {
        Region.ACT, Region.WGT, Region.VEC, Region.CONST} - {Region.ACT}
    assert without.places["h"].memory == Region.ACT


def test_useful_multiply_accumulates():
    shape = Shape(length=5, valid=4, width=7, heads=4, kv_heads=2, head_dim=3, rotary=False,
                  causal=True)
    assert shape.scores == 1 + 2 + 3 + 4 + 4
    projections = 5 * 7 * (12 + 6 + 6 + 12)
    assert shape.attention_macs == 2 * 4 * 3 * 14
    rng = np.random.default_rng(0)
    weights = random_layer(rng, width=7, heads=4, kv_heads=2, head_dim=3, rotary=False)
    layer, _ = compiled(rng, weights, get_config("tiny"), 5, valid=4)
    assert layer.macs == projections + shape.attention_macs
    rng = np.random.default_rng(0)
    layer, _ = compiled(rng, random_layer(rng, causal=False), get_config("tiny"), 6, valid=5)
    assert layer.macs == layer.program.macs == 6 * 24 * (30 + 10 + 10 + 30) + 2 * 3 * 10 * 6 * 5


# Errors ------------------------------------------------------------------------------------------

def compile_with(config, length, **options):
    rng = np.random.default_rng(0)
    weights = random_layer(rng, **options)
    return compiled(rng, weights, config, length, name="the layer")


@pytest.mark.parametrize(("changes", "length", "message"), [
    ({"act_depth": 64}, 9,
     "the layer at length 9 needs 141 words (564 bytes) of activation memory, but configuration "
     "'small' has 64 words (256 bytes); the nearest configuration that fits is 'tiny'"),
    ({"wgt_depth": 64}, 9,
     "the layer at length 9 needs 162 words (2592 bytes) of weight memory, but configuration "
     "'small' has 64 words (1024 bytes); the nearest configuration that fits is 'tiny'"),
    ({"vec_depth": 64}, 9,
     "the layer at length 9 needs 167 words (1336 bytes) of vector memory, but configuration "
     "'small' has 64 words (512 bytes); the nearest configuration that fits is 'tiny'"),
    ({"const_depth": 16}, 9,
     "the layer at length 9 needs 21 words (672 bytes) of column constant memory, but "
     "configuration 'small' has 16 words (512 bytes); the nearest configuration that fits "
     "is 'tiny'"),
    ({"acc_depth": 16}, 65,
     "the layer at length 65 needs 40 words (640 bytes) of accumulator memory, but configuration "
     "'small' has 16 words (256 bytes); the nearest configuration that fits is 'tiny'"),
    ({"ext_bytes": 1024}, 9,
     "the layer at length 9 needs 4528 bytes of external memory, but configuration 'small' has "
     "1024 bytes; the nearest configuration that fits is 'tiny'"),
])
def test_what_does_not_fit(changes, length, message):
    config = get_config("tiny").replace(name="small", **changes)
    with pytest.raises(CompileError) as error:
        compile_with(config, length)
    assert str(error.value) == message


def test_what_fits_nowhere():
    rng = np.random.default_rng(0)
    weights = random_layer(rng, width=2048, heads=1, head_dim=2048, rotary=False)
    with pytest.raises(CompileError, match=r"of activation memory, but configuration 'tiny' has "
                                           r"16384 words \(65536 bytes\); none of the named "
                                           r"configurations \(tiny, tall, sim16.*\) fits: make it "
                                           r"smaller"):
        compiled(rng, weights, get_config("tiny"), 64)


@pytest.mark.parametrize(("options", "message"), [
    ({"length": 0}, "length must be from 1 to 65535, not 0"),
    ({"length": 129}, "length is 129, but the rotary embedding has 128 positions"),
    ({"length": 5, "valid": 6}, "valid must be from 1 to the length, 5, not 6"),
    ({"length": 5, "valid": 0}, "valid must be from 1 to the length, 5, not 0"),
    ({"length": 5, "block_rows": 0}, "block_rows must be at least 1, not 0"),
])
def test_parameters_outside_their_limits(options, message):
    rng = np.random.default_rng(0)
    weights = random_layer(rng)
    scales = calibrate(weights, [rng.normal(size=(2, 3, 24))])
    with pytest.raises(CompileError) as error:
        compile_attention(weights, scales, get_config("tiny"), **options)
    assert str(error.value) == message


def test_inputs_that_do_not_fit():
    rng = np.random.default_rng(0)
    layer, (x, h) = compiled(rng, random_layer(rng), get_config("tiny"), 5)
    device = FunctionalDevice(get_config("tiny"))
    with pytest.raises(CompileError, match=r"^input h has shape \(4, 24\), but the layer was "
                                           r"compiled for \(5, 24\)$"):
        layer.run(device, x, h[:4])
    with pytest.raises(CompileError, match=r"^input x holds a value that is no finite number$"):
        layer.run(device, np.full_like(x, np.nan), h)
