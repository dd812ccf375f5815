"""Wider forms compute the same."""
import numpy as np
import pytest

from systolith.sw.decoder.widen import HEAD_COPIES, widened
from systolith.sw.models import load_model
from systolith.sw.reference import llama


@pytest.mark.parametrize("name", ["mathformer-div", "glassllm"])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_the_function_stays(name, copies):
    """Of one layer, and of four with queries that share keys and values."""
    weights = load_model(name).weights
    wide = widened(weights, copies, seed=copies)
    ids = np.random.default_rng(copies).integers(0, len(weights.embedding), 9).tolist()
    expected = llama.forward(ids, weights)
    np.testing.assert_allclose(llama.forward(ids, wide), expected,
                               atol=1e-9 * np.abs(expected).max())


def test_shapes():
    weights = load_model("mathformer-div").weights                      # d 8, f 32, 2 heads of 4
    wide = widened(weights, 2, seed=0)
    attention = wide.layers[0].attention
    assert wide.embedding.shape == (27, 16)
    assert attention.head_dim == 2 * HEAD_COPIES * 4
    assert attention.wq.shape == (16, 2 * attention.head_dim)
    assert wide.layers[0].gate.shape == (16, 64)
    assert wide.layers[0].down.shape == (64, 16)


def test_the_seed_gives_the_copies():
    weights = load_model("mathformer-div").weights
    first, same, other = (widened(weights, 2, seed).embedding for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert not np.allclose(first, other)
    # Copies that were the same would be rounded alike.
    assert not np.allclose(first[:, :8], first[:, 8:])
