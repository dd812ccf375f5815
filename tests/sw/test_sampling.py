"""Sampling of the next token."""
import numpy as np
import pytest

from systolith.sw.runtime.sampling import Sampling

SCORES = np.log([0.5, 0.05, 0.3, 0.15])


def test_temperature_zero_is_greedy():
    assert Sampling().greedy
    assert Sampling().choose(SCORES) == 0


def test_the_same_seed_gives_the_same_tokens():
    one, two, other = (Sampling(temperature=1.0, seed=seed) for seed in (3, 3, 4))
    tokens = [one.choose(SCORES) for _ in range(50)]
    assert tokens == [two.choose(SCORES) for _ in range(50)]
    assert tokens != [other.choose(SCORES) for _ in range(50)]


def test_frequencies_follow_the_scores():
    sampling = Sampling(temperature=1.0, seed=1)
    counts = np.bincount([sampling.choose(SCORES) for _ in range(20000)], minlength=4)
    np.testing.assert_allclose(counts / 20000, np.exp(SCORES), atol=0.015)


@pytest.mark.parametrize(("options", "tokens", "probabilities"), [
    ({"top_k": 2}, [0, 2], [0.625, 0.375]),
    ({"top_p": 0.5}, [0], [1.0]),
    ({"top_p": 0.51}, [0, 2], [0.625, 0.375]),
    ({"top_k": 3, "top_p": 0.9}, [0, 2, 3], [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95]),
    ({"temperature": 0.5}, [0, 2, 3, 1], np.array([0.25, 0.09, 0.0225, 0.0025]) / 0.365),
])
def test_what_may_be_chosen(options, tokens, probabilities):
    order, p = Sampling(**{"temperature": 1.0, **options}).distribution(SCORES)
    assert order.tolist() == tokens
    np.testing.assert_allclose(p, probabilities)


@pytest.mark.parametrize(("options", "message"), [
    ({"temperature": -1}, "temperature must be at least 0, not -1"),
    ({"top_k": 0}, "top_k must be at least 1, not 0"),
    ({"top_p": 0}, "top_p must be above 0 and at most 1, not 0"),
])
def test_rejections(options, message):
    with pytest.raises(ValueError, match="must be") as error:
        Sampling(**options)
    assert str(error.value) == message
