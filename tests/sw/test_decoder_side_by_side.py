"""Several sequences side by side: each gives what it gives on a core alone."""
import numpy as np
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.configs import get_config
from systolith.sw.compiler.errors import CompileError
from systolith.sw.decoder import ContextError, Session, compile_decoder, open_session
from systolith.sw.decoder.side_by_side import SideBySideSession
from systolith.sw.models import load_model
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.runtime.cluster import Alone
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.functional_cluster import FunctionalCluster

TINY = get_config("tiny@2x2")
PROBLEMS = ("7*8=", "98*76=", "3*4=", "12*34=")


@pytest.fixture(scope="module")
def model():
    return load_model("mathformer-mul")


@pytest.fixture(scope="module")
def compiled(model):
    return compile_decoder(model, TINY.core)


def check(result, other):
    assert result.token == other.token
    np.testing.assert_array_equal(result.logits, other.logits)
    assert (result.position, result.length, result.macs) == (
        other.position, other.length, other.macs)


@pytest.mark.parametrize("off", [(), (0,), (1, 2)])
def test_each_core_answers_its_own_text(model, compiled, off):
    cluster = FunctionalCluster(TINY, off=off)
    together = SideBySideSession(compiled, cluster)
    assert len(together.lanes) == 4 - len(off)
    texts = [model.encode(text) for text in PROBLEMS[:len(together.lanes)]]
    alone = [Session(compiled, FunctionalDevice(TINY.core)) for _ in texts]
    results = together.prefill(texts).results
    for _ in range(3):
        for result, session, ids in zip(results, alone, texts, strict=True):
            check(result, session.prefill(ids))
        texts = [[result.token] for result in results]
        results = together.step([result.token for result in results]).results


def test_a_sequence_may_stop_before_the_others(model, compiled):
    together = SideBySideSession(compiled, FunctionalCluster(TINY))
    together.prefill([model.encode(text) for text in PROBLEMS])
    done = together.step([None, 5])
    assert done.results[0] is None
    assert done.results[1].length == 1
    assert done.counters.move_bytes == done.results[1].counters.move_bytes
    assert together.lanes[0].position + 3 == together.lanes[1].position
    together.restart()
    assert together.prefill([model.encode("7*8=")]).results[0].position == 0


def test_a_long_prompt_takes_more_runs_than_a_short_one(model, compiled):
    together = SideBySideSession(compiled, FunctionalCluster(TINY))
    for lane in together.lanes:
        lane.compiled.most_rows = 4
    done = together.prefill([model.encode(PROBLEMS[1]), model.encode(PROBLEMS[0])])
    assert [result.runs for result in done.results] == [2, 1]
    compiled.most_rows = 64


def test_a_device_is_a_cluster_of_one(model, compiled):
    together = SideBySideSession(compiled, Alone(FunctionalDevice(TINY.core)))
    [result] = together.prefill([model.encode("7*8=")]).results
    check(result, Session(compiled, FunctionalDevice(TINY.core)).prefill(model.encode("7*8=")))


@pytest.mark.parametrize("off", [(0,), (3,), (0, 3), (0, 1, 2)])
def test_the_others_share_a_decoder_when_cores_are_off(model, off):
    compiled = compile_decoder(model, TINY, off=off)
    session, cache = open_session(compiled, FunctionalCluster(TINY, off=off)), Cache()
    ids = model.encode("98*76=")
    for _ in range(3):
        result, expected = session.prefill(ids), decode(ids, compiled.model, cache)
        np.testing.assert_array_equal(result.logits[-1], expected.logits[-1])
        ids = [result.token]


def test_mistakes_are_named(model, compiled):
    together = SideBySideSession(compiled, FunctionalCluster(TINY))
    for texts in ([[1]] * 5, [], [None]):
        with pytest.raises(CompileError, match=f"{len(texts)} texts for 4 cores"):
            together.prefill(texts)
    with pytest.raises(ContextError):
        together.prefill([[1] * (compiled.context + 1)])
    with pytest.raises(CompileError, match="compiled for 'tiny', but the cores are 'sim16'"):
        SideBySideSession(compiled, FunctionalCluster(get_config("2x1")))
    with pytest.raises(ConfigError, match="core 7 cannot be left out"):
        compile_decoder(model, TINY, off=(7,))
