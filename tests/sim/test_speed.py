"""The comparison of speeds compares the same thing."""
import stat

import pytest

from systolith.sim.progress import Progress
from systolith.sim.speed import measure
from systolith.sim.speed.measure import Simulator, Speed, compare, print_speed, sized


@pytest.fixture
def fake(tmp_path):
    """A program that prints a speed and a checksum, and takes note of its runs."""
    def make(name, speed, checksum):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {name} $1 >> {tmp_path}/log\n"
                           f"echo {speed} {checksum}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return Simulator(name, {}, program)
    return make


def test_arrays_run_in_turns(fake, tmp_path):
    speeds = compare([fake("a", 100, 7), fake("b", 50, 7)], cycles=9, turns=2)
    assert [(speed.name, speed.cycles) for speed in speeds] == [("array, a", 100), ("array, b", 50)]
    assert (tmp_path / "log").read_text().split("\n")[:4] == ["a 9", "b 9", "a 9", "b 9"]


def test_different_sums_are_an_error(fake):
    with pytest.raises(RuntimeError, match=r"different sums: \{'a': '7', 'b': '8'\}"):
        compare([fake("a", 100, 7), fake("b", 50, 8)])


def test_tables(capsys):
    print_speed([("8 x 8", 64, 1.25)], [Speed("array, a", {"generate": 2.0}, 300.0),
                                        Speed("array, b", {}, 200.0)])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["8", "x", "8", "64", "1.2"] in lines
    assert ["array,", "a", "2.0", "-", "-", "300", "1.50"] in lines


@pytest.mark.parametrize("side", measure.SIDES)
def test_sizes_fit(side):
    assert sized(side).peak_macs_per_cycle == side * side


@pytest.mark.slow
def test_both_arrays_give_the_same_sums(tmp_path):
    progress = Progress(quiet=True)
    arrays = [measure.build_array(name, write, tmp_path / name, progress) for name, write
              in (("generated", measure.generated_source), ("by hand", measure.source_by_hand))]
    assert all(speed.cycles > 0 for speed in compare(arrays, cycles=5000, turns=1))
