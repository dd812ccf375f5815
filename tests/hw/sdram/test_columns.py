"""Bursts follow without a gap, but for the turn from reading to writing."""
import pytest

from systolith.hw.sdram.columns import Columns
from systolith.hw.sdram.timing import SdramChip, SdramTiming
from tests.hw.sdram.simulated import simulate

CHIP, CYCLES = SdramChip(), SdramTiming().cycles(40e6)


@pytest.mark.parametrize("burst", [1, 2, 4, 8])
@pytest.mark.parametrize(("first", "second", "more"), [
    (0, 0, 0), (1, 1, 0), (1, 0, 0), (0, 1, CYCLES.cas + 1)])
def test_from_burst_to_burst(burst, first, second, more):
    dut = Columns(chip=CHIP, cycles=CYCLES, burst=burst)

    async def bench(context):
        context.set(dut.can_column, 0b1111)
        context.set(dut.has_beat, 1)
        context.set(dut.i.valid, 1)
        context.set(dut.i.payload.write, first)
        assert context.get(dut.i.ready)
        await context.tick()
        context.set(dut.i.payload.write, second)
        cycles = 1
        while not context.get(dut.i.ready):
            await context.tick()
            cycles += 1
        assert cycles == burst + more

    simulate(dut, bench)


def test_what_a_burst_waits_for():
    dut = Columns(chip=CHIP, cycles=CYCLES, burst=2)

    async def bench(context):
        context.set(dut.i.valid, 1)
        context.set(dut.i.payload, {"bank": 1, "write": 1})
        for banks, beat, ready in ((0b1101, 1, 0), (0b0010, 0, 0), (0b0010, 1, 1)):
            context.set(dut.can_column, banks)
            context.set(dut.has_beat, beat)
            assert context.get(dut.i.ready) == ready
        context.set(dut.has_beat, 0)
        context.set(dut.i.payload.write, 0)
        assert context.get(dut.i.ready), "a read needs no beat"

    simulate(dut, bench)
