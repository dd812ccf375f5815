"""Decoders whose residual has a few columns that are far larger than the others."""
import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.sw.decoder import Session, compile_decoder
from systolith.sw.decoder.scales import calibrate_decoder
from systolith.sw.decoder.smoothing import norm_columns, residual_units
from systolith.sw.models import load_model
from systolith.sw.reference import llama
from systolith.sw.reference.decoder import Cache, decode, normalized
from tests.sw.decoders import LARGE, compiled, quantized, random_decoder, random_tokens
from tests.sw.test_decoder import check, garbage, residual

#: Configurations, also with so little weight memory that weights are streamed.
CONFIGS = {config.name: config for config in (
    get_config("tiny"), get_config("tall"), get_config("sim16"),
    get_config("tiny").replace(name="streamed", wgt_depth=256))}


@pytest.mark.parametrize("large", [1.0, LARGE])
def test_columns_only_where_one_unit_is_too_coarse(large):
    model = quantized(random_decoder(large=large))
    norms = [model.norm, *(norm for layer in model.layers for norm in (layer.norm1, layer.norm2))]
    assert model.columned == (large > 1)
    assert all((norm is not None) == (large > 1) for norm in norms)


def test_units_grow_for_each_column():
    """After the network of layer 0 and the attention of layer 1, as much as its column needs."""
    model = quantized(random_decoder())
    growing = [words for layer in model.layers
               for words in (layer.grow_attention, layer.grow_feed_forward)]
    assert [words is not None for words in growing] == [False, True, True, False, False, False]
    assert all(len(set(words.tolist())) > 10 for words in growing[1:3])


@pytest.mark.parametrize("large", [1.0, LARGE])
def test_close_to_float(large):
    """Large columns cost no more than weights and rows in INT8 do anyway."""
    weights, ids = random_decoder(large=large), random_tokens(30, 3)
    model = quantized(weights)
    ours = decode(ids, model, Cache()).logits * model.logit_scale
    exact = llama.forward(ids, weights)
    assert np.sqrt(np.mean((ours - exact) ** 2) / np.mean(exact ** 2)) < 0.04


def test_residual_keeps_small_columns():
    weights, ids = random_decoder(), random_tokens(30, 3)
    model = quantized(weights)
    steps = decode(ids, model, Cache())
    exact = weights.embedding[ids]
    for index, layer in enumerate(weights.layers):
        exact = llama.layer_forward(exact, layer, weights.epsilon)
        ours = steps.residuals[index + 1] * model.x_scales[index + 1]
        error = np.sqrt(np.mean((ours - exact) ** 2, axis=0) / np.mean(exact ** 2, axis=0))
        assert error.max() < 0.06


def test_rows_of_a_norm():
    """INT8 rows over their largest divided element, times their length's inverse: the float norm
    within half a step; rows of very different sizes, and a row of zeros."""
    rng = np.random.default_rng(4)
    unit, divisors = rng.uniform(0.01, 1, 24) * 10.0 ** rng.integers(-3, 1, 24), np.ones(24)
    divisors[1:] = rng.uniform(0.05, 1, 23)
    x = rng.integers(-32768, 32768, (9, 24)) >> rng.integers(0, 6, (9, 1))
    x[-1] = 0
    columns, factor = norm_columns(unit, divisors)
    rows = normalized(x, np.zeros(9), columns)
    words = (rows.words & 0xFFFF) / 2.0 ** (rows.words >> 16)
    exact = x * unit
    length = np.maximum(np.sqrt((exact ** 2).sum(axis=1, keepdims=True)), 1e-9)
    step = np.abs(exact / divisors).max(axis=1, keepdims=True) / 127
    ours = rows.values * divisors * words[:, None] * factor / 127
    assert np.abs(ours - exact / length).max() <= (0.52 * step * divisors / length).max()
    assert np.all(np.abs(rows.values[:-1]).max(axis=1) == 127)
    assert not rows.values[-1].any()


def test_one_unit_for_a_column_of_zeros():
    """A column that is always zero has a unit none the less."""
    weights = random_decoder()
    weights.embedding[:, 5] = 0
    for layer in weights.layers:
        layer.attention.wo[:, 5] = layer.down[:, 5] = 0
    units = residual_units(calibrate_decoder(weights, [random_tokens(9)]))
    assert units.shape == (7, 22)
    assert units.min() > 0


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("length", [1, 5, 17])
def test_device(config, length):
    """Ragged prefills in garbage, then steps: logits, tokens and the residual of the reference."""
    model = compiled(CONFIGS[config])
    assert model.residents.streamed == (config == "streamed")
    session, reference = Session(model, garbage(model.config, length)), Cache()
    token, expected = check(session, reference, random_tokens(length), all_logits=True)
    run = list(model._runs.values())[-1]
    np.testing.assert_array_equal(residual(session, run),
                                  expected.residuals[-1][-run.shape.length:])
    for _ in range(2):
        token, _ = check(session, reference, [token])


@pytest.mark.slow
def test_smollm2():
    """A short prompt and a step, with weights that come out of external memory."""
    pytest.importorskip("gguf")
    source = load_model("smollm2")
    model = compile_decoder(source, get_config("sim16"), context=48)
    assert model.model.columned
    assert model.residents.streamed
    session, reference = Session(model, garbage(model.config)), Cache()
    token, _ = check(session, reference, source.encode(source.default_prompt))
    assert source.decode([token]) == " Paris"
    check(session, reference, [token])
