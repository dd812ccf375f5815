"""The float and the integer attention layer."""
import numpy as np
import pytest

from systolith.sw.compiler.calibrate import calibrate
from systolith.sw.compiler.quantize import quantize, quantize_attention
from systolith.sw.models import ModelError, load_model
from systolith.sw.reference.attention import attention, attention_steps, integer_attention, key_mask
from systolith.sw.reference.weights import AttentionWeights
from tests.sw.layers import random_input, random_layer


def integer_layer(weights, sample, valid=None):
    """Dequantized output of the integer layer for a sample that also calibrates it."""
    x, h = sample
    layer = quantize_attention(weights, calibrate(weights, [sample]))
    y = integer_attention(quantize(h, layer.h_scale, 127), quantize(x, layer.x_scale, 32767), layer,
                          valid)
    return y * layer.x_scale


def relative(y, x, exact):
    return np.linalg.norm(y - x - exact) / np.linalg.norm(exact)


@pytest.mark.parametrize("rotary", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_integer_layer_is_near_the_float_one(rotary, causal, bias):
    rng = np.random.default_rng(1)
    weights = random_layer(rng, rotary=rotary, causal=causal, bias=bias)
    sample = random_input(rng, 20)
    exact = attention(sample[1], weights)
    # Random Gaussian weights make scores with a deviation of about 75: nearly a hard maximum.
    assert relative(integer_layer(weights, sample), sample[0], exact) < 0.12


@pytest.mark.parametrize("layer", range(4))
def test_glassllm_error_is_small(layer):
    model = load_model("glassllm")
    sample = model.layer_input(model.encode(model.default_prompt), layer)
    exact = attention(sample[1], model.attention(layer))
    assert relative(integer_layer(model.attention(layer), sample), sample[0], exact) < 0.025


def test_halves_and_neighbours_are_the_same_layer():
    rng = np.random.default_rng(2)
    halves = random_layer(rng, pairs="halves", bias=True)
    _, h = random_input(rng, 9)
    turned = halves.neighbours()
    assert turned.pairs == "neighbours"
    assert turned.neighbours() is turned
    # The definition of Hugging Face: element i is rotated with element i + head_dim / 2.
    q = (h @ halves.wq + halves.bq).reshape(9, 3, 10).transpose(1, 0, 2)
    first, second = q[..., :5], q[..., 5:]
    cos, sin = halves.cos[:9], halves.sin[:9]
    expected = np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
    actual = attention_steps(h, halves)["q"]
    np.testing.assert_allclose(actual[..., 0::2], expected[..., :5])
    np.testing.assert_allclose(actual[..., 1::2], expected[..., 5:])


def test_padding_does_not_change_what_is_valid():
    rng = np.random.default_rng(3)
    weights = random_layer(rng, causal=False)
    _, h = random_input(rng, 12)
    np.testing.assert_allclose(attention(h, weights, valid=7)[:7], attention(h[:7], weights))


def test_key_mask():
    assert key_mask(3, None, True).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert key_mask(3, 2, True).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert key_mask(3, 1, False).tolist() == [[1, 0, 0]] * 3


@pytest.mark.parametrize(("changes", "message"), [
    ({"heads": 0}, "heads must be at least 1, not 0"),
    ({"heads": 3, "kv_heads": 2}, "heads (3) must be a multiple of kv_heads (2)"),
    ({"pairs": "odd"}, "pairs must be 'neighbours' or 'halves', not 'odd'"),
    ({"cos": np.ones((4, 2))}, "cos and sin must be given together"),
    ({"wk": np.ones((8, 7))}, "wk has shape (8, 7), but the layer needs (8, 8)"),
    ({"bo": np.full(8, np.inf)}, "bo[0] is inf; 8 of 8 weights are no finite numbers; export the "
                                 "model again"),
    ({"head_dim": 3, "cos": np.ones((4, 1)), "sin": np.ones((4, 1))},
     "head_dim must be even for a rotary embedding, not 3"),
])
def test_weights_that_do_not_fit(changes, message):
    fields = {"wq": np.ones((8, 8)), "wk": np.ones((8, 8)), "wv": np.ones((8, 8)),
              "wo": np.ones((8, 8)), "heads": 2, "kv_heads": 2, "head_dim": 4}
    with pytest.raises(ModelError) as error:
        AttentionWeights(**(fields | changes))
    assert str(error.value) == message
