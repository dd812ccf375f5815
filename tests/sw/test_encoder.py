"""Encoders: float, integer, compiled, on the functional device."""
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from systolith.hw.configs import CONFIGS
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.quantize import scale_word_of
from systolith.sw.encoder import calibrate_encoder, compile_encoder
from systolith.sw.encoder.quantize import _norm, gelu_table
from systolith.sw.reference import bert, encoder, numerics
from systolith.sw.reference.rows import ROW_MAX, quantized, smoothed
from systolith.sw.runtime.functional import FunctionalDevice
from tests.sw.encoders import quantized as quantized_model
from tests.sw.encoders import random_encoder, random_texts


@pytest.fixture(scope="module")
def weights():
    return random_encoder()


@pytest.fixture(scope="module")
def model(weights):
    return quantized_model(weights)


def test_integer_embeddings_are_near_the_float_ones(weights, model):
    for ids in random_texts(1, 2, 9, 40, seed=7):
        vector = encoder.embed(ids, model) / 2.0 ** 15
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)
        assert vector @ bert.embed(ids, weights) > 0.999


def test_many_texts_at_once_are_the_same_as_one_by_one(model):
    texts = random_texts(3, 1, 12, 5)
    expected = [encoder.embed(ids, model) for ids in texts]
    assert np.array_equal(encoder.embed_all(texts, model), expected)


@pytest.mark.parametrize("config", ["tiny", "tall", "sim16"])
@pytest.mark.parametrize(("length", "valid"), [(1, 1), (5, 5), (13, 10), (37, 33)])
def test_functional_device_equals_the_reference(model, config, length, valid):
    config = CONFIGS[config]
    compiled = compile_encoder(model, config, length=length, valid=valid)
    device = FunctionalDevice(config)
    compiled.load(device)
    for ids in random_texts(valid, valid):
        assert compiled.run(device, ids).bit_exact


@pytest.mark.parametrize("shape", [
    {"width": 20, "heads": 2, "hidden": 33, "layers": 1}, {"width": 16, "heads": 1, "hidden": 16},
    {"width": 18, "heads": 3, "hidden": 70, "layers": 1}])
def test_ragged_sizes(shape):
    model = quantized_model(random_encoder(**shape))
    for name in ("tiny", "tall"):
        compiled = compile_encoder(model, CONFIGS[name], length=11, valid=9)
        device = FunctionalDevice(CONFIGS[name])
        compiled.load(device)
        assert compiled.run(device, random_texts(9)[0]).bit_exact


def test_padding_and_garbage_in_the_memories_change_nothing(model):
    config, ids = CONFIGS["tiny"], random_texts(7)[0]
    compiled = compile_encoder(model, config, length=15, valid=7)
    device = FunctionalDevice(config)
    rng = np.random.default_rng(0)
    for name in ("act", "wgt", "vec", "const", "row", "acc"):
        raw = getattr(device.memories, name).reshape(-1).view(np.uint8)
        raw[:] = rng.integers(0, 256, raw.size)
    compiled.load(device)
    assert compiled.run(device, ids).bit_exact


@pytest.mark.parametrize("config", ["tiny", "tall", "sim16"])
@pytest.mark.parametrize("acc_depth", [64, 128])
def test_accumulators_that_hold_two_products(model, config, acc_depth):
    """Of queries, keys and values, one must be drained before the third comes."""
    config = dataclasses.replace(CONFIGS[config], acc_depth=acc_depth)
    compiled = compile_encoder(model, config, length=13, valid=10)
    device = FunctionalDevice(config)
    compiled.load(device)
    assert compiled.run(device, random_texts(10)[0]).bit_exact


def test_groups_of_other_sizes(weights):
    model = quantized_model(weights, group=9)
    assert [group.up.weight.shape[1] for group in model.layers[0].groups] == [9, 9, 9, 9, 4]
    compiled = compile_encoder(model, CONFIGS["tiny"], length=6)
    device = FunctionalDevice(CONFIGS["tiny"])
    compiled.load(device)
    assert compiled.run(device, random_texts(6)[0]).bit_exact


# Numeric operations ----------------------------------------------------------------------------

@pytest.mark.parametrize("domain", [4.0, 8.0, 31.0])
def test_gelu_of_every_input(domain):
    u = np.arange(-32768, 32768)
    result = numerics.multiply(numerics.table_linear(u, gelu_table(domain)), u) * domain / 32768
    error = np.abs(result - bert.gelu(u * domain / 32768))
    # Half of a chord's error, 0.242 * (domain / 32) ** 2 / 16, times the input, and rounding.
    assert error.max() < 0.026 * (domain / 32) ** 2 + 3e-4 * domain / 4


@pytest.mark.parametrize("scale", [30, 1000, 16000])
def test_layer_norm(scale):
    rng = np.random.default_rng(scale)
    y = rng.integers(-scale, scale, (50, 24))
    gain, bias, unit = rng.uniform(0.5, 1.5, 24), rng.normal(0, 0.1, 24), 1e-3
    norm = bert.Norm(gain=gain, bias=bias)
    got = encoder.layer_norm(y, _norm(norm, unit, bias, np.ones(24)),
                             int(scale_word_of(2.0 ** 15 / 24))) * unit
    # The mean is rounded to half a unit of the input, which is this part of its deviation.
    assert np.abs(got - bert.layer_norm(y, norm, 0.0)).max() < 3 * unit + 2.0 / scale


@pytest.mark.parametrize("largest", [1, 100, 32767])
def test_dynamic_rows(largest):
    rng = np.random.default_rng(largest)
    x = rng.integers(-largest, largest + 1, (200, 24))
    x[:, 3] = largest
    rows = quantized(x, numerics.reciprocal(np.abs(x).max(axis=1)))
    assert np.abs(rows.values - x * ROW_MAX / largest).max() <= 0.51
    multiplier, shift = numerics.split_scale(rows.words)
    assert np.allclose(multiplier / 2.0 ** shift, largest / 2.0 ** 17, rtol=1e-4)
    assert np.array_equal(quantized(np.zeros((1, 4), int), np.zeros(1, int)).values,
                          np.zeros((1, 4)))


@given(largest=st.integers(1, 32767), seed=st.integers(0, 2 ** 32 - 1))
def test_smoothed_rows(largest, seed):
    """Worst error: 0.52 of a step, and half a step more where the row has but one unit."""
    rng = np.random.default_rng(seed)
    x, divisors = rng.integers(-largest, largest + 1, (4, 24)), rng.uniform(0.25, 1, 24)
    x[:, 5] = largest
    norm = _norm(bert.Norm(gain=np.ones(24), bias=np.zeros(24)), 1.0, np.zeros(24), divisors)
    exact = x / divisors
    exact *= ROW_MAX / np.abs(exact).max(axis=1, keepdims=True)
    rows = smoothed(x, norm.smooth, norm.measure)
    assert np.abs(rows.values - exact).max() <= 0.52 + 0.55 / largest


def test_smoothed_rows_of_zeros_are_zero(model):
    norm = model.norm
    rows = smoothed(np.zeros((2, 24), int), norm.smooth, norm.measure)
    assert not rows.values.any()
    assert not rows.words.any()


# Errors ------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("options", "message"), [
    ({"length": 0}, "length must be from 1 to the model's 40 positions, not 0"),
    ({"length": 41}, "length must be from 1 to the model's 40 positions, not 41"),
    ({"length": 5, "valid": 6}, "valid must be from 1 to the length, 5, not 6"),
])
def test_parameters_outside_their_limits(model, options, message):
    with pytest.raises(CompileError) as error:
        compile_encoder(model, CONFIGS["tiny"], **options)
    assert str(error.value) == message


def test_configurations_that_cannot_hold_an_encoder(model):
    config = CONFIGS["tiny"]
    with pytest.raises(CompileError, match="has no external memory"):
        compile_encoder(model, config.replace(name="none", ext_bytes=0), length=4)
    with pytest.raises(CompileError, match="holds 1 function table, but an encoder needs 2"):
        compile_encoder(model, config.replace(name="one", tables=1), length=4)
    with pytest.raises(CompileError, match=r"encoder at length 40 needs \d+ words \(\d+ bytes\) of "
                                           r"weight memory, .*the nearest configuration that fits"):
        compile_encoder(model, config.replace(name="small", wgt_depth=128), length=40)


def test_tokens_that_do_not_fit(model):
    compiled = compile_encoder(model, CONFIGS["tiny"], length=3)
    with pytest.raises(CompileError, match="the text has 2 tokens, but the encoder was compiled "
                                           "for 3"):
        compiled.queues([1, 2])
    with pytest.raises(CompileError, match="token 50 at place 1 is outside the vocabulary of "
                                           "encoder, which has tokens 0 to 49"):
        compiled.queues([1, 50, 2])


def test_calibration_needs_samples(weights):
    with pytest.raises(CompileError, match="at least one sample"):
        calibrate_encoder(weights, [])
    with pytest.raises(CompileError, match="percentile must be above 0 and at most 100, not 0"):
        calibrate_encoder(weights, random_texts(3), percentile=0)


def test_negative_gain_is_refused(weights):
    gain = weights.norm.gain.copy()
    gain[2] = -1.0
    changed = dataclasses.replace(weights, norm=bert.Norm(gain=gain, bias=weights.norm.bias))
    with pytest.raises(CompileError, match="gain -1 of a layer norm is negative"):
        quantized_model(changed)
