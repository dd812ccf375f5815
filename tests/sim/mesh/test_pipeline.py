"""Requests through a pipeline of cores on the RTL."""
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.configs import get_config
from systolith.sim.mesh import pipeline as module
from systolith.sim.mesh.pipeline import check_requests, pipeline
from systolith.sim.progress import Progress
from tests.sw.encoders import quantized, random_encoder, random_texts

TINY = get_config("tiny")
QUIET = Progress(quiet=True)


@pytest.mark.slow
def test_two_cores_do_nearly_twice_as_much():
    model = quantized(random_encoder(layers=2))
    found = pipeline(model, random_texts(*[40] * 6), TINY, 2, 1, progress=QUIET)
    assert (found.cores, found.requests, found.positions) == (2, 6, 40)
    assert 1.5 < found.steady_speed_up < 2.1
    assert found.speed_up < found.steady_speed_up
    # Filled, each result comes an interval after the one before.
    assert 6 * found.interval < found.cycles < 8 * found.interval
    assert found.busy_percent < found.steady_busy_percent < 100
    assert 0 < found.memory_percent < found.steady_memory_percent < 100


def test_a_wrong_result_has_no_speed(monkeypatch):
    model = quantized(random_encoder(layers=2))
    monkeypatch.setattr(module, "_alone", lambda *_: 1)
    monkeypatch.setattr(module, "_times", lambda *_: [])
    right = module.compile_encoder_pipeline

    def wrong(model, *_, **options):
        """Compiled for one model, compared with another."""
        other = quantized(random_encoder(layers=2, seed=1))
        compiled = right(other, *_, **options)
        return module.CompiledPipeline(**{**vars(compiled), "model": model})

    monkeypatch.setattr(module, "compile_encoder_pipeline", wrong)
    with pytest.raises(RuntimeError, match="the pipeline on tiny@2x1 is not bit exact"):
        pipeline(model, random_texts(*[4] * 3), TINY, 2, 1, progress=QUIET)


def test_all_cores_must_be_busy_at_once():
    check_requests(get_config("tiny@2x2"), 5)
    with pytest.raises(ConfigError, match="more requests than cores, 4, not 4"):
        check_requests(get_config("tiny@2x2"), 4)
    with pytest.raises(ConfigError, match="at least 2 nodes"):
        check_requests(get_config("tiny"), 4)
