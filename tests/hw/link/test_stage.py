"""The register in the way of words: nothing is lost, doubled or passed on within a cycle."""
import random

import pytest

from systolith.hw.link.stage import Stage
from tests.hw.sdram.simulated import simulate


@pytest.mark.parametrize(("offered", "taken"), [(1.0, 1.0), (0.3, 1.0), (1.0, 0.3), (0.5, 0.5)])
def test_words_come_in_order(offered, taken):
    chosen, dut = random.Random(1), Stage(shape=8)
    words = [chosen.getrandbits(8) for _ in range(200)]

    async def bench(context):
        sent, got, cycles, valid = 0, [], 0, False
        while len(got) < len(words):
            valid = valid or (sent < len(words) and chosen.random() < offered)
            context.set(dut.i.valid, valid)
            context.set(dut.i.payload, words[sent] if valid else 0)
            context.set(dut.o.ready, 0)
            ready = context.get(dut.i.ready)
            take = chosen.random() < taken
            context.set(dut.o.ready, take)
            assert context.get(dut.i.ready) == ready, "it must not depend on the other side"
            if take and context.get(dut.o.valid):
                got.append(context.get(dut.o.payload))
            if valid and ready:
                sent, valid = sent + 1, False
            await context.tick()
            cycles += 1
            assert cycles < 5000
        assert got == words
        if offered == taken == 1.0:
            assert cycles <= 2 * len(words) + 2
    simulate(dut, bench)
