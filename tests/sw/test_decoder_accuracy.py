"""The three ways of a decoder, and what is measured of them."""
import dataclasses

import numpy as np
import pytest

from systolith.sw.decoder.answers import ANSWERS, exact_answers, problems, summed
from systolith.sw.decoder.evaluate import perplexity
from systolith.sw.decoder.greedy import WRITTEN, greedy_texts, prompts_of, written
from systolith.sw.decoder.simulate import SimulatedDecoder, factors
from systolith.sw.decoder.ways import Ways
from systolith.sw.models import ModelError, load_model
from systolith.sw.models.accuracy import Measure
from systolith.sw.reference.decoder import Cache
from systolith.sw.reference.numerics import scale_word
from tests.sw.decoders import quantized, random_decoder, random_tokens

TEXT = "It was the White Rabbit, trotting slowly back again, and looking anxiously about. " * 20


@pytest.fixture(scope="module")
def glassllm():
    return load_model("glassllm")


@pytest.fixture(scope="module")
def ways(glassllm):
    return Ways.of(glassllm)


def test_factors_of_scale_words():
    np.testing.assert_array_equal(factors(scale_word([3, 1 << 15, 0], [1, 15, 4])), [1.5, 1, 0])


def test_the_three_ways_are_near_each_other_and_differ(glassllm, ways):
    exact, int8, ours = ways.logits(glassllm.tokenize(TEXT)[:40])
    size = np.abs(exact).mean()
    for logits in (int8, ours):
        assert 0 < np.abs(logits - exact).mean() < 0.05 * size
    # What INT8 costs is most of what the machine loses.
    assert 0 < np.abs(ours - int8).mean() < np.abs(int8 - exact).mean()


@pytest.mark.parametrize("name", ["glassllm", "mathformer-div"])
def test_token_by_token_is_the_same_as_all_at_once(name):
    model = load_model(name)
    simulated, cache = SimulatedDecoder(Ways.of(model).integers), Cache()
    ids = model.encode(model.default_prompt)
    one_by_one = np.concatenate([simulated.decode([token], cache) for token in ids])
    np.testing.assert_allclose(one_by_one, simulated.decode(ids, Cache()), rtol=1e-6, atol=1e-3)


def test_larger_units_on_the_way_change_nothing(glassllm, ways):
    """Twice the unit from the middle of the first layer on: half the words, the same logits."""
    def halved(linear):
        return dataclasses.replace(linear, words=linear.words + (1 << 16))

    first, *rest = ways.integers.layers
    word = int(scale_word(1 << 15, 16))
    layers = [dataclasses.replace(first, grow_attention=word, out=halved(first.out),
                                  down=halved(first.down)),
              *(dataclasses.replace(each, out=halved(each.out), down=halved(each.down))
                for each in rest)]
    grown = SimulatedDecoder(dataclasses.replace(ways.integers, layers=tuple(layers)))
    ids = glassllm.tokenize(TEXT)[:12]
    np.testing.assert_allclose(grown.decode(ids, Cache()),
                               SimulatedDecoder(ways.integers).decode(ids, Cache()),
                               rtol=1e-6, atol=1e-3)


def test_a_sigmoid_with_units_of_its_own(ways):
    """The same words twice: what the gate has and what the sigmoid takes."""
    layers = tuple(dataclasses.replace(each, squash_words=each.gate.words)
                   if each.squash_words is None else each for each in ways.integers.layers)
    other = SimulatedDecoder(dataclasses.replace(ways.integers, layers=layers))
    np.testing.assert_array_equal(
        other.decode([1, 2, 3], Cache()), SimulatedDecoder(ways.integers).decode([1, 2, 3],
                                                                                Cache()))


def test_columns_with_units_of_their_own():
    """A residual with columns 3,000 times larger than the others; one unit for all spoils it."""
    weights, ids = random_decoder(), random_tokens(20)
    ways = Ways(weights, quantized(weights))
    assert ways.integers.norm is not None
    exact, int8, ours = ways.logits(ids)
    size = np.abs(exact).mean()
    assert 0 < np.abs(int8 - exact).mean() < 0.05 * size
    assert 0 < np.abs(ours - int8).mean() < np.abs(int8 - exact).mean()


@pytest.mark.parametrize(("kind", "least"), [("add", 100), ("sub", 55), ("mul", 100), ("div", 89)])
def test_mathformer_answers(kind, least):
    measure = exact_answers(load_model(f"mathformer-{kind}"))
    assert measure.float == measure.samples
    assert measure.int8 >= least
    assert measure.ours >= least


def test_problems_of_single_digits():
    assert [len(problems(kind)) for kind in ANSWERS] == [100, 55, 100, 90]
    assert ("7/2=", "Q3R1") in problems("div")


def test_the_sum_over_all_mathformers():
    rows = [Measure("a", "exact answers", 100, 100.0, 98.0, 97.0),
            Measure("b", "exact answers", 55, 55.0, 54.0, 50.0)]
    assert summed(rows) == Measure("mathformer", "exact answers", 155, 155.0, 152.0, 147.0)


def test_perplexity_is_near_that_of_floating_point(glassllm, ways):
    done = []
    measure = perplexity(glassllm, ways, TEXT, window=128, windows=2,
                         progress=lambda *counts: done.append(counts))
    assert measure.samples == 256
    assert done == [(1, 2), (2, 2)]
    for value in (measure.int8, measure.ours):
        assert value != measure.float
        assert abs(value / measure.float - 1) < 0.02


def test_perplexity_of_a_text_that_is_too_short(glassllm, ways):
    text = "Alice was beginning to get very tired of sitting by her sister. " * 4
    count = len(glassllm.tokenize(text))
    assert 64 < count < 96
    with pytest.raises(ModelError, match=rf"has {count} tokens; .* need 97: take at most 64$"):
        perplexity(glassllm, ways, text, window=32, windows=3)


def test_prompts_are_beginnings_of_both_sources(glassllm):
    sources = ([TEXT[:82]] * 5 + ["too short", "\N{SNOWMAN} " * 20], [TEXT[3:82]] * 5)
    prompts = prompts_of(glassllm, sources, count=6)
    assert prompts == prompts_of(glassllm, sources, count=6)
    assert prompts != prompts_of(glassllm, sources, count=6, seed=1)
    assert all(8 <= len(ids) <= 20 for ids in prompts)
    starts = [glassllm.decode(ids).strip().startswith("It was") for ids in prompts]
    assert starts == [True] * 3 + [False] * 3


def test_greedy_texts(glassllm, ways):
    prompt = glassllm.encode(glassllm.default_prompt)[:9]
    texts = [written(step, prompt) for step in ways.steps()]
    assert all(len(text) == WRITTEN for text in texts)
    done = []
    first, whole = greedy_texts(glassllm, ways, [prompt], lambda *counts: done.append(counts))
    assert done == [(1, 1)]
    assert first == Measure("glassllm", "identical greedy texts of 1 token", 1, 1.0,
                            float(texts[1][0] == texts[0][0]), float(texts[2][0] == texts[0][0]))
    assert whole == Measure("glassllm", "identical greedy texts of 20 tokens", 1, 1.0,
                            float(texts[1] == texts[0]), float(texts[2] == texts[0]))
