"""Softmax as the machine does it against float64."""
import numpy as np
import pytest

from systolith.sim.results import SCORE_UNIT, softmax_errors
from systolith.sw.compiler.quantize import scale_word_of
from systolith.sw.reference import numerics
from systolith.sw.reference.softmax import LOG2_UNITS, softmax


def run(scores, valid=None, unit=SCORE_UNIT):
    """Probabilities (float) of INT32 scores."""
    scores = np.asarray(scores)
    valid = np.ones(scores.shape, dtype=bool) if valid is None else np.asarray(valid)
    p, total = softmax(scores, scale_word_of(unit * LOG2_UNITS), valid)
    assert p.min() >= 0
    assert p.max() <= 255
    return p * 128 / np.maximum(total, 1)[:, None]


@pytest.mark.parametrize(("length", "mean", "product"), [
    (64, 0.3e-3, 0.013), (128, 0.25e-3, 0.013), (256, 0.2e-3, 0.013), (1024, 0.1e-3, 0.022)])
def test_error_on_gaussian_logits(length, mean, product):
    error, worst, relative = softmax_errors(length)
    assert error <= mean
    assert worst <= 0.002
    assert relative <= product


def test_all_equal_rows():
    for value in (-(2 ** 31), -1, 0, 5, 2 ** 31 - 1):
        np.testing.assert_allclose(run(np.full((2, 10), value)), 0.1, atol=1e-6)


def test_one_element_and_one_valid_element():
    np.testing.assert_array_equal(run([[7]]), [[1.0]])
    np.testing.assert_array_equal(run([[9, -4, 2]], [[False, True, False]]), [[0, 1, 0]])


def test_a_row_without_valid_elements_is_zero():
    np.testing.assert_array_equal(run([[3, 4]], [[False, False]]), [[0, 0]])


def test_extreme_scores_saturate():
    np.testing.assert_allclose(run([[2 ** 31 - 1, -(2 ** 31)]]), [[1, 0]], atol=1e-4)


def test_rows_sum_to_one_but_for_the_rounding_to_8_bits():
    rng = np.random.default_rng(5)
    scores = np.rint(rng.normal(0, 2, (200, 100)) / SCORE_UNIT).astype(np.int64)
    # A hundred roundings, each of at most 1/510 of the row's largest probability.
    np.testing.assert_allclose(run(scores).sum(axis=1), 1, atol=0.03)


def test_total_fits_the_longest_row():
    _, total = softmax(np.zeros((1, 65535), dtype=np.int64), 0, np.ones((1, 65535), dtype=bool))
    assert total[0] == 65535 * numerics.EXP2_ONE < 2 ** 31
