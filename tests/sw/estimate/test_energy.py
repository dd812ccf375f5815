"""Joules against sums by hand."""
from dataclasses import replace

import pytest

from systolith.hw.configs import get_config
from systolith.sw.estimate import energies
from systolith.sw.estimate.activity import Activity
from systolith.sw.estimate.energies import Switching
from systolith.sw.estimate.energy import PARTS, Technology, assumptions, bank_bytes, energy

TINY = get_config("tiny")
RANDOM = Switching(1, 1, "random data")
CHIP = Technology(mhz=100, switching=RANDOM)
ULX3S = Technology(mhz=40, switching=RANDOM, device=energies.device("85k"), sdram=True)
UP5K = Technology(mhz=24, switching=RANDOM, device=energies.device("up5k"))
#: The weights of a bank of `tiny` are 32 KiB.
COUNTS = Activity(cycles=4000, cell_operations=1000, accumulations=100, elements=10, multiplies=20,
                  adds=30, memory_bytes={"wgt": 800}, external_bytes=8000)


def ends(span):
    return pytest.approx((span.low, span.high))


def test_a_chip():
    assert bank_bytes(TINY)["wgt"] == 1 << 15
    parts = energy(TINY, COUNTS, CHIP)
    assert tuple(parts) == PARTS
    # 1000 x (0.2 + 0.1) + 100 x 0.1; 100 words at 20; 20 x 1.55 + 30 x 0.1 and, at most,
    # 10 x (4 x 3.1 + 6 x 0.1); 1000 words at 1300 to 2600.
    expected = {"array": (310, 310), "memories": (2000, 2000), "vector unit": (34, 130),
                "external memory": (1.3e6, 2.6e6), "clock": (0, 0),
                "static": (0, 0.3 * (310 + 2000 + 130))}
    for name, picojoules in expected.items():
        assert tuple(1e-12 * end for end in picojoules) == ends(parts[name]), name


def test_a_board_with_an_sdram():
    chip, board = energy(TINY, COUNTS, CHIP), energy(TINY, COUNTS, ULX3S)
    for name in ("array", "vector unit"):
        assert ends(board[name]) == (5 * chip[name].low, 14 * chip[name].high)
    # Blocks of RAM are small: 10 pJ, not 20, times the factor.
    assert ends(board["memories"]) == (5e-9, 14e-9)
    assert ends(board["external memory"]) == (8000 * 162.5e-12, 8000 * 2178e-12)
    # 4000 cycles at 40 MHz are 100 us.
    assert ends(board["static"]) == ((0.10 + 0.020) * 1e-4, (0.35 + 0.149) * 1e-4)


def test_a_board_without_an_sdram():
    parts = energy(TINY, COUNTS, UP5K)
    assert ends(parts["external memory"]) == (1000 * 10e-12 * 5, 1000 * 10e-12 * 14)
    assert ends(parts["clock"]) == (0, 4000 * 53.6e-12)
    assert ends(parts["static"]) == (0.000104 * 4000 / 24e6, 0.000104 * 4000 / 24e6)


@pytest.mark.parametrize(("count", "part"), [
    ("cell_operations", "array"), ("memory_bytes", "memories"), ("external_bytes",
                                                                 "external memory")])
def test_a_doubled_count_doubles_its_part_and_leaves_the_others(count, part):
    counts = replace(COUNTS, accumulations=0)
    value = getattr(counts, count)
    twice = {name: 2 * size for name, size in value.items()} if isinstance(value, dict) else (
        2 * value)
    before, after = (energy(TINY, each, ULX3S) for each in (
        counts, replace(counts, **{count: twice})))
    assert ends(after[part]) == (2 * before[part].low, 2 * before[part].high)
    assert {name for name in PARTS if after[name] != before[name]} == {part}


def test_half_the_switching_is_half_of_the_array():
    half = replace(CHIP, switching=Switching(0.5, 0.5, "half"))
    assert ends(energy(TINY, COUNTS, half)["array"]) == (155e-12, 155e-12)


def test_assumptions_name_every_figure_that_is_used():
    chip, board = "\n".join(assumptions(CHIP)), "\n".join(assumptions(ULX3S))
    for text in ("multiply8: 0.2 pJ", "Horowitz", "leakage: 0 to 0.3", "of random products"):
        assert text in chip
    for text in ("factor: 5 to 14", "sdram_byte", "assumption", "W at rest"):
        assert text in board
        assert text not in chip or text == "assumption"
    assert "sdram" not in "\n".join(assumptions(UP5K))
