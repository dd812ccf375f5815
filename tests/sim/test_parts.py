"""Every cycle and byte of a trace belongs to one part."""
from systolith.hw.isa import Engine, Load, Product
from systolith.sim.parts import OTHER, parts
from tests.sim.traces import BUSY, IDLE, WAIT, make_trace


def example(**changes):
    """Products of parts a, a, b: a load for the first, a wait for a load of the third."""
    return make_trace(
        100, states=[(WAIT, 0, 10, 1), (BUSY, 10, 50, 0), (WAIT, 50, 60, 1), (BUSY, 60, 90, 0),
                     (IDLE, 90, 100, 0)],
        program={Engine.MATRIX: (Product(wait=1), Product(), Product(wait=1)),
                 Engine.MOVE: (Load(signal=1, rows=2, row_bytes=8),
                               Load(signal=1, rows=1, row_bytes=100))},
        commands=[(Engine.MOVE, 0, 0, 9), (Engine.MOVE, 1, 5, 60), (Engine.MATRIX, 0, 10, 40),
                  (Engine.MATRIX, 1, 30, 55), (Engine.MATRIX, 2, 60, 95)], **changes)


STAGES = {Engine.MATRIX: "aab", Engine.MOVE: "ab"}


def test_a_wait_belongs_to_the_part_that_waits():
    first, second = parts(example(), STAGES)
    assert (first.name, first.cycles) == ("a", {"before_first": 10, "busy": 40})
    assert (second.name, second.cycles) == ("b", {"loads": 10, "busy": 30, "after_last": 10})
    assert (first.total, first.beats, first.move_bytes) == (50, 40, 16)
    assert (second.total, second.beats, second.move_bytes) == (50, 30, 100)


def test_beats_without_a_gap_are_divided_at_the_command():
    first, second = parts(example(), {**STAGES, Engine.MATRIX: "abb"})
    assert first.cycles == {"before_first": 10, "busy": 20}
    assert second.cycles == {"busy": 50, "loads": 10, "after_last": 10}


def test_runs_end_parts_and_a_part_is_found_again():
    trace = example(runs=(0, 55))
    first, second, third = parts(trace, {Engine.MATRIX: "aba"})
    assert [part.name for part in (first, second, third)] == ["a", "b", OTHER]
    assert first.cycles == {"before_first": 10 + 5, "busy": 20 + 30, "after_last": 10}
    assert second.cycles == {"busy": 20, "after_last": 5}
    assert (third.cycles, third.move_bytes) == ({}, 116)


def test_without_names():
    (part,) = parts(example(), {})
    assert (part.name, part.total, part.move_bytes) == (OTHER, 100, 116)
