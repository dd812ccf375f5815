"""Tensors in memory words."""
import numpy as np
import pytest

from systolith.sw.compiler.layout import (
    activation_words,
    column_constants,
    from_activation_words,
    from_vector_words,
    vector_words,
    weight_tiles,
)
from tests.sw.layers import ALL_CONFIGS


@pytest.mark.parametrize("name", ALL_CONFIGS)
def test_weight_byte_addresses(name):
    config = ALL_CONFIGS[name]
    rng = np.random.default_rng(0)
    weight = rng.integers(-128, 128, (2 * config.rows + 3, config.cols + 1))
    words = np.frombuffer(weight_tiles(weight, config), np.int8).reshape(
        -1, config.rows * config.cols)
    assert len(words) == 3 * 2
    for i, o in np.ndindex(weight.shape):
        word = o // config.cols * 3 + i // config.rows
        assert words[word, i % config.rows * config.cols + o % config.cols] == weight[i, o]
    assert np.count_nonzero(words) == np.count_nonzero(weight)


@pytest.mark.parametrize("name", ALL_CONFIGS)
def test_round_trips(name):
    config = ALL_CONFIGS[name]
    rng = np.random.default_rng(0)
    a, v = rng.integers(-128, 128, (5, 37)), rng.integers(-2 ** 15, 2 ** 15, (5, 37))
    assert np.array_equal(from_activation_words(activation_words(a, config), config, 5, 37), a)
    assert np.array_equal(from_vector_words(vector_words(v, config), config, 5, 37), v)


def test_column_constants_are_bias_then_scale_word():
    config = ALL_CONFIGS["tall"]
    words = np.frombuffer(column_constants([5, 6, 7], [-1, 2, 3], config, 3), "<u4").reshape(-1, 2)
    assert words.tolist() == [[2 ** 32 - 1, 5], [2, 6], [3, 7], [0, 0], [0, 0], [0, 0]]
    words = np.frombuffer(column_constants([5], None, config, 1), "<u4").reshape(-1, 2)
    assert words.tolist() == [[0, 5], [0, 0]]
