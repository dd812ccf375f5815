"""Beats become words and words beats, without a gap."""
import random

import pytest

from systolith.hw.sdram.words import BeatToWords, WordsToBeat
from tests.hw.sdram.simulated import simulate

BEATS = 40


def plan(burst, generator):
    """Beats, and the cycle in which each starts: next to each other, or with pauses."""
    cycle = 0
    for _ in range(BEATS):
        yield cycle, generator.getrandbits(16 * burst)
        cycle += burst + generator.choice([0, 0, 0, 1, 5])


def words_of(beat, burst):
    return [beat >> 16 * index & 0xFFFF for index in range(burst)]


@pytest.mark.parametrize("burst", [2, 4, 8])
def test_a_beat_becomes_words(burst):
    dut, beats = BeatToWords(burst=burst), dict(plan(burst, random.Random(1)))
    expected = {start + 1 + index: word for start, beat in beats.items()
                for index, word in enumerate(words_of(beat, burst))}

    async def bench(context):
        for cycle in range(max(expected) + 10):
            context.set(dut.start, cycle in beats)
            context.set(dut.beat, beats.get(cycle, 0))
            assert context.get(dut.valid) == (cycle in expected)
            if cycle in expected:
                assert context.get(dut.word) == expected[cycle]
            await context.tick()

    simulate(dut, bench)


@pytest.mark.parametrize("delay", [4, 6])
@pytest.mark.parametrize("burst", [2, 4, 8])
def test_words_become_a_beat(burst, delay):
    dut, beats = WordsToBeat(burst=burst, delay=delay), dict(plan(burst, random.Random(2)))
    words = {start + delay + index: word for start, beat in beats.items()
             for index, word in enumerate(words_of(beat, burst))}
    expected = {start + delay + burst: beat for start, beat in beats.items()}

    async def bench(context):
        for cycle in range(max(expected) + 10):
            context.set(dut.start, cycle in beats)
            context.set(dut.word, words.get(cycle, 0xDEAD))
            assert context.get(dut.valid) == (cycle in expected)
            if cycle in expected:
                assert context.get(dut.beat) == expected[cycle]
            await context.tick()

    simulate(dut, bench)
