"""Lost cycles are charged to their cause, and nothing is lost twice or not at all."""
import pytest

from systolith.hw.isa import Engine, Load, Pass, Product
from systolith.sim.lost import CAUSES, lost_cycles
from tests.sim.traces import BUSY, FENCE, IDLE, STALL, TINY, WAIT, make_trace

PEAK = TINY.peak_macs_per_cycle


def check(trace, beats, **expected):
    lost = lost_cycles(trace, beats * PEAK)
    assert list(lost) == list(CAUSES)
    assert {cause: cycles for cause, cycles in lost.items() if cycles} == expected
    assert sum(lost.values()) + beats == trace.cycles


def test_ends_of_a_run_whatever_the_array_waits_for():
    trace = make_trace(100, states=[(WAIT, 0, 10, 1), (BUSY, 10, 60, 0), (IDLE, 60, 100, 0)])
    check(trace, 50, before_first=10, after_last=40)


def test_each_run_has_its_own_ends():
    trace = make_trace(40, runs=(0, 20), states=[
        (IDLE, 0, 5, 0), (BUSY, 5, 15, 0), (IDLE, 15, 23, 0), (BUSY, 23, 33, 0), (IDLE, 33, 40, 0)])
    check(trace, 20, before_first=8, after_last=12)


def test_a_run_without_a_product():
    check(make_trace(7, states=[(IDLE, 0, 7, 0)]), 0, before_first=7)


def test_beats_that_are_partly_useful():
    trace = make_trace(10, states=[(BUSY, 0, 10, 0)])
    check(trace, 7.5, padding=2.5)


@pytest.mark.parametrize(("missing", "cause"), [
    (0b001, "loads"), (0b010, "vector"), (0b011, "vector"), (0b100, "boundary"),
    (0b1000, "commands"), (0, "boundary")])
def test_a_wait_is_charged_to_who_signals_last(missing, cause):
    """Semaphore 0 comes from a load at 30, 1 from a pass at 40, 2 from a product, 3 from nobody."""
    trace = make_trace(
        60, states=[(BUSY, 0, 10, 0), (WAIT, 10, 40, missing), (BUSY, 40, 60, 0)],
        program={Engine.MOVE: (Load(signal=1), Load(signal=1)), Engine.VECTOR: (Pass(signal=2),),
                 Engine.MATRIX: (Product(signal=4),)},
        commands=[(Engine.MOVE, 0, 0, 10), (Engine.MOVE, 1, 5, 30), (Engine.MATRIX, 0, 0, 20),
                  (Engine.VECTOR, 0, 10, 40)])
    check(trace, 30, **{cause: 30})


def test_stall_fence_and_fetch():
    trace = make_trace(40, queue=[(0, 5)], states=[
        (BUSY, 0, 10, 0), (STALL, 10, 13, 0), (FENCE, 13, 20, 0), (IDLE, 20, 24, 0),
        (BUSY, 24, 40, 0)])
    check(trace, 26, stall=3, boundary=11)


def test_an_empty_queue_is_the_hosts_fault():
    trace = make_trace(50, queue=[(0, 3), (12, 0), (30, 4)], states=[
        (BUSY, 0, 10, 0), (IDLE, 10, 40, 0), (BUSY, 40, 50, 0)])
    check(trace, 20, commands=18, boundary=12)


def test_more_work_than_beats_is_refused():
    with pytest.raises(ValueError, match="need 11 beats, but the array made 10"):
        lost_cycles(make_trace(10, states=[(BUSY, 0, 10, 0)]), 11 * PEAK)
