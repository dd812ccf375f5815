"""Scale words, weights and calibration."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from systolith.sw.compiler import CompileError, calibrate
from systolith.sw.compiler.quantize import (
    quantize,
    quantize_attention,
    quantize_weight,
    scale_word_of,
)
from systolith.sw.reference import numerics
from tests.sw.layers import random_input, random_layer


@given(st.floats(2.0 ** -47, 2.0 ** 15.9))
def test_scale_words_are_normalized_and_near(factor):
    multiplier, shift = numerics.split_scale(scale_word_of(factor))
    assert 2 ** 15 <= multiplier < 2 ** 16
    assert abs(multiplier / 2.0 ** int(shift) / factor - 1) <= 2 ** -16


def test_scale_words_of_powers_of_two_and_zero():
    assert scale_word_of([1.0, 0.5, 0.0]).tolist() == [15 << 16 | 2 ** 15, 16 << 16 | 2 ** 15, 0]
    # Rounds up into the next power of two.
    assert scale_word_of(1 - 2.0 ** -20) == 15 << 16 | 2 ** 15


@pytest.mark.parametrize(("factor", "message"), [
    (2.0 ** 17, "scale 131072 is outside 2**-48 to 2**16, which a scale word holds; check the "
                "calibration inputs"),
    (2.0 ** -50, "scale 8.88178e-16 is outside 2**-48 to 2**16, which a scale word holds; check "
                 "the calibration inputs"),
    (-1.0, "a scale must be a finite number of at least 0, not -1.0"),
    (np.nan, "a scale must be a finite number of at least 0, not nan"),
])
def test_scales_that_do_not_fit(factor, message):
    with pytest.raises(CompileError) as error:
        scale_word_of([factor])
    assert str(error.value) == message


def test_weights_use_the_whole_range_of_each_channel():
    weight = np.array([[1.0, -0.01, 0.0], [-2.0, 0.005, 0.0]])
    integers, scale = quantize_weight(weight)
    assert integers.tolist() == [[64, -127, 0], [-127, 64, 0]]
    np.testing.assert_allclose(scale, [2 / 127, 0.01 / 127, 2 / 127])


def test_weights_of_zeros():
    integers, scale = quantize_weight(np.zeros((3, 2)))
    assert (integers.tolist(), scale.tolist()) == ([[0, 0]] * 3, [1, 1])


def test_quantize_rounds_half_to_even_and_clamps():
    assert quantize([0.5, 1.5, -0.5, 300, -300], 1.0, 127).tolist() == [0, 2, 0, 127, -127]


def test_samples_just_fit():
    rng = np.random.default_rng(0)
    weights = random_layer(rng)
    samples = [random_input(rng, 9), random_input(rng, 5)]
    scales = calibrate(weights, samples)
    assert scales.h * 127 == pytest.approx(max(np.abs(h).max() for _, h in samples))
    assert scales.q.shape == scales.o.shape == (3,)
    assert scales.k.shape == scales.v.shape == (1,)
    cut = calibrate(weights, samples, percentile=90)
    assert cut.h < scales.h
    assert np.all(cut.q < scales.q)
    assert cut.x == scales.x


def test_zero_inputs_calibrate_to_unit_scales():
    weights = random_layer(np.random.default_rng(0))
    scales = calibrate(weights, [(np.zeros((3, 24)), np.zeros((3, 24)))])
    assert scales.h == 1
    assert scales.q.tolist() == [1, 1, 1]
    quantize_attention(weights, scales)


@pytest.mark.parametrize(("samples", "message"), [
    ([], "calibration needs at least one sample (x, h)"),
    ([(np.ones((2, 24)), np.ones((2, 23)))],
     "calibration sample h has shape (2, 23), but the layer needs (T, 24)"),
    ([(np.ones((3, 24)), np.ones((2, 24)))],
     "calibration sample x has 3 positions, but h has 2"),
    ([(np.full((2, 24), np.nan), np.ones((2, 24)))],
     "calibration sample x holds a value that is no finite number"),
    ([(np.ones((129, 24)), np.ones((129, 24)))],
     "calibration sample h has 129 positions, but the rotary embedding has 128"),
])
def test_samples_that_do_not_fit(samples, message):
    with pytest.raises(CompileError) as error:
        calibrate(random_layer(np.random.default_rng(0)), samples)
    assert str(error.value) == message


def test_percentile_outside_its_range():
    weights = random_layer(np.random.default_rng(0))
    with pytest.raises(CompileError, match=r"^percentile must be above 0 and at most 100, not 0$"):
        calibrate(weights, [random_input(np.random.default_rng(0), 2)], percentile=0)
