"""Ways in which several cores run an encoder, and the session on them."""
import numpy as np
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.configs import get_config
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.site import Site
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.encoder import EncoderSession, compile_encoder_placed
from systolith.sw.encoder.placement import PLACEMENTS
from systolith.sw.reference.encoder import embed
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from tests.sw.encoders import quantized, random_encoder, random_texts, words_by_number

TINY = get_config("tiny@2x2")


@pytest.fixture(scope="module")
def model():
    """As many layers as there are cores, so that each can have one."""
    return quantized(random_encoder(layers=4))


@pytest.fixture(scope="module")
def encoder():
    return words_by_number(layers=4)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("off", [(), (0,), (2,), (0, 3), (0, 1, 2)])
def test_every_text_is_that_of_the_reference(model, placement, off):
    """Also where cores are switched off."""
    site, cluster = Site.of(TINY, off), FunctionalCluster(TINY, off=off)
    program = compile_encoder_placed(model, site, length=14, placement=placement)
    program.load(cluster)
    texts = random_texts(*[14] * PLACEMENTS[placement].at_once(site))
    for part in (texts, texts[:1]):
        vectors, _ = program.embed_texts(cluster, part)
        for ids, vector in zip(part, vectors, strict=True):
            np.testing.assert_array_equal(vector, embed(ids, model))


def test_texts_side_by_side_do_not_disturb_each_other(model):
    program = compile_encoder_placed(model, Site.of(TINY), length=9, placement="texts")
    verify_mesh(TINY, program.program.commands)
    assert program.at_once == 4
    assert len(set(program.outputs)) == 4


def test_texts_that_do_not_fit_are_refused(model):
    program = compile_encoder_placed(model, Site.of(TINY, (1,)), length=9, placement="texts")
    with pytest.raises(CompileError, match="4 texts at once for 3 cores"):
        program.embed_texts(FunctionalCluster(TINY, off=(1,)), random_texts(*[9] * 4))


@pytest.mark.parametrize(("placement", "off", "idle"), [
    ("layers", (), (4, 5)), ("layers", (0, 5), ()), ("texts", (1,), ())])
def test_a_session_says_which_cores_are_idle(encoder, placement, off, idle):
    """Four layers are four stages at most; cores that are off are not idle."""
    cluster = FunctionalCluster(get_config("tiny@2x3"), off=off)
    batch = EncoderSession(encoder, cluster, placement=placement).run(["1 2 3"])
    assert batch.idle == idle


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_session_gives_the_vectors_of_one_core(encoder, placement):
    texts = ["1 2 3", "4 5 6 7 8", "9 10 11", "12 13 14", "3 3 3", "2 2 2", "1 2 3 4 5"]
    alone = EncoderSession(encoder, FunctionalDevice(TINY.core))
    together = EncoderSession(encoder, FunctionalCluster(TINY), placement=placement)
    ticks = []
    np.testing.assert_array_equal(
        together.embed(texts, lambda done, count: ticks.append((done, count))), alone.embed(texts))
    assert ticks[-1] == (7, 7)
    groups = together.groups(texts)
    assert sorted(place for group in groups for place in group) == list(range(7))
    assert groups == {"texts": [(0, 2, 3, 4), (5,), (1, 6)],
                      "groups": [(0, 2, 3, 4), (5,), (1, 6)],
                      "layers": [(0, 2, 3, 4, 5), (1, 6)]}.get(
                          placement, [(place,) for place in range(7)])
    assert together.similarity("1 2 3", "1 2 3") == pytest.approx(1)
    batch = together.run([texts[place] for place in groups[0]])
    assert batch.macs == len(groups[0]) * alone.run(texts[:1]).macs


def test_a_session_keeps_clear_of_cores_that_are_off(encoder):
    session = EncoderSession(encoder, FunctionalCluster(TINY, off=(3,)))
    alone = EncoderSession(encoder, FunctionalDevice(TINY.core))
    np.testing.assert_array_equal(session.embed(["1 2 3 4"]), alone.embed(["1 2 3 4"]))
    assert not any(session.program(4).program.commands[3].values())


def test_layers_are_shared_out_to_cores_side_by_side(model):
    program = compile_encoder_placed(model, Site.of(TINY), length=9, placement="layers")
    assert [duty["layers"] for duty in program.duties()] == [(0, 1), (1, 2), (3, 4), (2, 3)]
    with pytest.raises(CompileError, match="9 texts for a pipeline of 8"):
        program.embed_texts(FunctionalCluster(TINY), random_texts(*[9] * 9))


def test_mistakes_are_named(encoder, model):
    with pytest.raises(ConfigError, match=r"no placement 'nothing'; choose one of col"):
        EncoderSession(encoder, FunctionalCluster(TINY), placement="nothing")
    with pytest.raises(ConfigError, match="placement 'texts' needs several cores, and 'tiny'"):
        EncoderSession(encoder, FunctionalDevice(TINY.core), placement="texts")
    with pytest.raises(CompileError, match="a row of 'tiny@5x1' has 5 cores"):
        compile_encoder_placed(model, Site.of(get_config("tiny@5x1")), length=20,
                               placement="columns")
    end = compile_encoder_placed(model, Site.of(TINY), length=20, placement="texts").outputs[-1]
    small = TINY.replace(ext_bytes=1 << end.bit_length() - 1)
    with pytest.raises(CompileError, match="bytes of external memory"):
        compile_encoder_placed(model, Site.of(small), length=20, placement="texts")
