"""Whole decoders on the functional device against the integer reference, byte for byte."""
import dataclasses
from functools import cache

import numpy as np
import pytest

from systolith.hw.config import MEMORIES, Region
from systolith.hw.configs import get_config
from systolith.sw.compiler import CompileError
from systolith.sw.decoder import ContextError, Session, compile_decoder
from systolith.sw.decoder.answers import ANSWERS, LONGEST_ANSWER, answer_of, problems
from systolith.sw.decoder.residents import linear_sizes
from systolith.sw.decoder.ways import Ways
from systolith.sw.models import load_model
from systolith.sw.reference import llama
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.runtime.functional import FunctionalDevice


@cache
def compiled(name, config, context=None):
    return compile_decoder(load_model(name), get_config(config), context=context)


def garbage(config, seed=3):
    """A functional device whose memories hold random bytes."""
    device, rng = FunctionalDevice(config), np.random.default_rng(seed)
    for region in MEMORIES:
        device.write(region, 0, rng.bytes(device.size(region)))
    return device


def residual(session, run):
    """The residual that is left in vector memory, INT16 (T, d)."""
    config, tiles = session.compiled.config, session.compiled.tiles
    size = tiles.width_beats * config.word_bytes(Region.VEC)
    data = session.device.read(Region.VEC, run.scratch.x.base * config.word_bytes(Region.VEC),
                               run.shape.length * size)
    return np.frombuffer(data, "<i2").reshape(
        run.shape.length, -1)[:, :session.compiled.model.width]


def check(session, cache, ids, **options):
    """Add tokens to a session and to the reference; compare; the next token."""
    result = session.prefill(ids, **options)
    expected = decode(ids, session.compiled.model, cache)
    rows = slice(None) if options.get("all_logits") else slice(-1, None)
    np.testing.assert_array_equal(result.logits, expected.logits[rows])
    assert result.token == expected.tokens[-1]
    return result.token, expected


@pytest.mark.parametrize("config", ["tiny", "tall", "sim16"])
@pytest.mark.parametrize("kind", ANSWERS)
def test_mathformers(kind, config):
    """Prefill and decode in memories full of garbage, with all logits and with the last row's."""
    model = compiled(f"mathformer-{kind}", config)
    session, reference = Session(model, garbage(model.config)), Cache()
    token, _ = check(session, reference, load_model(model.name).encode(f"7{ANSWERS[kind][0]}4="),
                     all_logits=True)
    for _ in range(3):
        token, _ = check(session, reference, [token])


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 33])
def test_glassllm_logits_and_residuals(length):
    """Ragged prefills in garbage, then decode steps; the residual after the last layer, too."""
    model = compiled("glassllm", "sim16")
    session, reference = Session(model, garbage(model.config, length)), Cache()
    ids = np.random.default_rng(length).integers(0, model.model.vocabulary, length).tolist()
    token, expected = check(session, reference, ids, all_logits=True)
    for run in model._runs.values():
        if run.shape.length == length and run.shape.all_logits and run.shape.position == 0:
            np.testing.assert_array_equal(residual(session, run), expected.residuals[-1])
    for _ in range(2):
        token, _ = check(session, reference, [token])


def test_residual_of_every_layer():
    """A decoder cut after each of its layers leaves that layer's residual."""
    whole = compiled("glassllm", "sim16")
    ids = load_model("glassllm").encode("Alice was beginning")
    for count in range(1, len(whole.model.layers) + 1):
        cut = dataclasses.replace(whole.model, layers=whole.model.layers[:count])
        part = type(whole)("cut", cut, whole.config, 32)
        session = Session(part, FunctionalDevice(part.config))
        session.prefill(ids)
        run = next(iter(part._runs.values()))
        expected = decode(ids, whole.model, Cache()).residuals[count]
        np.testing.assert_array_equal(residual(session, run), expected)


def test_pieces_equal_the_whole():
    """Prefill in pieces, up to the last position, as the reference does it in one."""
    model = compiled("glassllm", "sim16")
    session = Session(model, garbage(model.config))
    ids = np.random.default_rng(0).integers(0, model.model.vocabulary, model.context).tolist()
    expected = decode(ids, model.model, Cache())
    parts = [ids[:5], ids[5:6], ids[6:]]
    logits = [session.prefill(part, all_logits=True).logits for part in parts]
    np.testing.assert_array_equal(np.concatenate(logits), expected.logits)
    with pytest.raises(ContextError, match="128 tokens and 1 more do not fit the context"):
        session.step(0)


def test_second_sequence_ignores_the_first():
    model = compiled("mathformer-mul", "tiny")
    session = Session(model, FunctionalDevice(model.config))
    session.prefill(load_model(model.name).encode("98*76=54"))
    session.restart()
    check(session, Cache(), load_model(model.name).encode("7*8="))


def test_sliding_window():
    """At a full context the last half of it starts again."""
    model = compiled("mathformer-add", "tiny", 8)
    session = Session(model, FunctionalDevice(model.config), slide=True)
    ids = load_model(model.name).encode("12+34=46")
    session.prefill(ids)
    result = session.step(ids[0])
    kept = [*ids[-3:], ids[0]]
    assert session.ids == kept
    assert result.token == decode(kept, model.model, Cache()).tokens[-1]


def test_close_to_float():
    model, source = compiled("glassllm", "sim16"), load_model("glassllm")
    ids = source.encode(source.default_prompt)
    ours = decode(ids, model.model, Cache())
    expected = llama.forward(ids, source.weights)
    assert np.abs(ours.logits * model.model.logit_scale - expected).mean() < 0.1
    assert np.mean(ours.tokens == expected.argmax(axis=1)) > 0.9


@pytest.mark.parametrize(("ids", "message"), [
    ([], "there are no tokens"), ([27], "token 27 at place 0 is outside the vocabulary")])
def test_wrong_tokens(ids, message):
    model = compiled("mathformer-add", "tiny")
    with pytest.raises(CompileError, match=message):
        Session(model, FunctionalDevice(model.config)).prefill(ids)


def test_context_beyond_the_model():
    with pytest.raises(CompileError, match="context must be from 1 to 64"):
        compile_decoder(load_model("mathformer-add"), get_config("tiny"), context=65)


def test_context_beyond_the_weight_memory():
    config = get_config("tiny").replace(name="small", wgt_depth=2048)
    with pytest.raises(CompileError, match=r"glassllm with 128 positions needs .* of weight "
                                           "memory, but configuration 'small' has .*the nearest "
                                           "configuration that fits is 'tiny'"):
        compile_decoder(load_model("glassllm"), config, context=128)
    shorter = compile_decoder(load_model("glassllm"), config)
    assert shorter.residents.streamed
    assert 1 < shorter.context < 128
    assert shorter.residents.rings[0].base + shorter.residents.rings[0].words == config.wgt_depth


#: Configurations whose weight memory is too small for glassllm, or whose constants are.
SMALL = {config.name: config for config in (
    get_config("tiny"), get_config("tall"),
    get_config("sim16").replace(name="few-weights", wgt_depth=512),
    get_config("sim16").replace(name="few-constants", const_depth=64))}


@pytest.mark.parametrize("config", SMALL)
@pytest.mark.parametrize("all_logits", [False, True])
def test_streamed_weights(config, all_logits):
    """Ragged prefills, longer than one run, and steps, in garbage, with weights that come."""
    model = compile_decoder(load_model("glassllm"), SMALL[config], context=48)
    assert model.residents.streamed
    session, reference = Session(model, garbage(model.config)), Cache()
    ids = np.random.default_rng(2).integers(0, model.model.vocabulary, 27).tolist()
    token, _ = check(session, reference, ids, all_logits=all_logits)
    for _ in range(2):
        token, _ = check(session, reference, [token])


def test_streamed_weights_move_once_a_run():
    """Every weight and constant once, and little else."""
    model = compile_decoder(load_model("glassllm"), SMALL["few-weights"], context=48)
    session = Session(model, FunctionalDevice(model.config))
    for ids in ([1, 2, 3], [4]):
        weights = sum(
            size.words * model.config.word_bytes(Region.WGT)
            + size.beats * model.config.word_bytes(Region.CONST)
            for size in linear_sizes(model.model, model.config).values())
        result = session.prefill(ids)
        row = (model.tiles.width_beats + model.tiles.query_beats) * model.config.word_bytes(
            Region.VEC)
        assert result.counters.move_bytes == weights + len(ids) * row


@pytest.mark.slow
@pytest.mark.parametrize("kind", ANSWERS)
def test_all_problems_on_the_device(kind):
    """Every problem of single digits, until the answer ends, as the reference answers it."""
    source, model = load_model(f"mathformer-{kind}"), compiled(f"mathformer-{kind}", "tiny")
    session, ways = Session(model, garbage(model.config)), Ways(source.weights, model.model)
    for problem, _ in problems(kind):
        session.restart()
        result, text = session.prefill(source.encode(problem)), ""
        while source.decode([result.token]) != "</s>" and len(text) < LONGEST_ANSWER:
            text += source.decode([result.token])
            result = session.step(result.token)
        assert text == answer_of(source, ways.steps()[2], problem)
