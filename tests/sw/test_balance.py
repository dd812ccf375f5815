"""Balanced heads compute the same, with even magnitudes."""
import dataclasses

import numpy as np
import pytest

from systolith.sw.decoder.balance import balanced
from systolith.sw.models import load_model
from systolith.sw.reference import llama
from systolith.sw.reference.attention import attention_steps

SAMPLES = [[1, 5, 9, 13, 4], [7, 7, 2]]


@pytest.mark.parametrize("name", ["mathformer-div", "glassllm"])
def test_the_function_stays(name):
    weights = load_model(name).weights
    expected = llama.forward([3, 1, 4, 1, 5], weights)
    np.testing.assert_allclose(llama.forward([3, 1, 4, 1, 5], balanced(weights, SAMPLES)),
                               expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["mathformer-div", "glassllm"])
def test_magnitudes_are_even(name):
    """All elements of a value head alike; each rotary pair of a key like that of its queries."""
    weights = balanced(load_model(name).weights, SAMPLES)
    w = weights.layers[0].attention
    steps = [attention_steps(llama.layer_input(ids, 0, weights)[1], w) for ids in SAMPLES]
    q, k, v = (np.max([np.abs(step[each]).max(axis=1) for step in steps], axis=0)
               for each in "qkv")                                       # (heads, hd)
    np.testing.assert_allclose(v, np.broadcast_to(v.max(axis=1, keepdims=True), v.shape))
    pairs = (w.kv_heads, w.head_dim // 2)
    np.testing.assert_allclose(
        k.reshape(*pairs, 2).max(axis=2),
        q.reshape(w.kv_heads, w.group, w.head_dim // 2, 2).max(axis=(1, 3)))


def test_zeros_stay():
    """A value element that is always zero, as pruning leaves it, has no magnitude to even out."""
    weights = load_model("mathformer-div").weights
    attention = weights.layers[0].attention
    pruned = dataclasses.replace(
        weights.layers[0], attention=dataclasses.replace(attention, wv=0 * attention.wv))
    result = balanced(dataclasses.replace(weights, layers=(pruned,)), SAMPLES)
    np.testing.assert_array_equal(result.layers[0].attention.wo, attention.wo)
