"""Encoders whose placement the cycle model chooses."""
import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.site import Site
from systolith.sw.encoder import EncoderSession
from systolith.sw.encoder.automatic import candidates, fastest
from systolith.sw.encoder.placement import AUTO, PLACEMENTS
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from tests.sw.encoders import quantized, random_encoder, random_texts, words_by_number

TINY = get_config("tiny@2x2")
LENGTH = 10


@pytest.fixture(scope="module")
def model():
    return quantized(random_encoder(layers=4))


@pytest.fixture(scope="module")
def found(model):
    return candidates(model, Site.of(TINY), length=LENGTH)


def test_every_placement_is_tried(found):
    assert [each.placement for each in found] == list(PLACEMENTS)
    for each in found:
        assert each.texts == PLACEMENTS[each.placement].at_once(Site.of(TINY))
        assert (each.estimate is None) == bool(each.refused)


def test_the_fewest_cycles_for_a_text_win(found):
    best = fastest(found)
    assert best.cycles_per_text == min(
        each.cycles_per_text for each in found if each.estimate is not None)


def test_one_text_wants_the_shortest_run(found):
    """Where a run is for many, one text takes all of it."""
    best = fastest(found, texts=1)
    assert best.cycles(1) == min(
        each.estimate.cycles for each in found if each.estimate is not None)
    assert best.placement == "columns"


def test_texts_beyond_a_run_take_another(found):
    pipeline = next(each for each in found if each.placement == "texts")
    assert pipeline.cycles(pipeline.texts + 1) == 2 * pipeline.cycles(pipeline.texts)


def test_what_cannot_be_placed_says_why(model):
    with pytest.raises(CompileError, match=r"cannot be placed on 'tiny@2x2': columns: .*; "):
        candidates(model, Site.of(TINY), length=41)


def test_a_session_gives_the_vectors_of_any_other():
    encoder = words_by_number(layers=4)
    texts = [" ".join(map(str, ids)) for ids in random_texts(LENGTH, LENGTH, 5)]
    chosen, given = (EncoderSession(encoder, FunctionalCluster(TINY), placement=placement)
                     for placement in (AUTO, "columns"))
    np.testing.assert_array_equal(chosen.embed(texts), given.embed(texts))
