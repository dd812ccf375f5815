"""Refreshes come once a period on average, however long each is held up."""
import random

import pytest

from systolith.hw.sdram.refresh import Refresher
from tests.hw.sdram.simulated import simulate

PERIOD = 40


@pytest.mark.parametrize("longest", [0, 10, PERIOD - 5])
def test_what_one_is_late_does_not_delay_the_next(longest):
    dut, generator, times = Refresher(period=PERIOD), random.Random(1), []

    async def bench(context):
        context.set(dut.enable, 1)
        late = 0
        for cycle in range(50 * PERIOD):
            context.set(dut.ready, late == 0)
            if context.get(dut.refresh):
                times.append(cycle)
                late = generator.randint(0, longest)
            elif context.get(dut.hold):
                late -= 1
            await context.tick()

    simulate(dut, bench)
    assert len(times) == 49
    for number, time in enumerate(times, start=1):
        assert PERIOD * number <= time <= PERIOD * number + longest


def test_rows_are_closed_first():
    dut = Refresher(period=PERIOD)

    async def bench(context):
        context.set(dut.enable, 1)
        context.set(dut.open, 1)
        await context.tick().until(dut.hold)
        assert not context.get(dut.precharge), "something is still under way"
        context.set(dut.quiet, 1)
        assert context.get(dut.precharge)
        assert not context.get(dut.refresh)
        await context.tick()
        context.set(dut.open, 0)
        assert not context.get(dut.precharge)
        assert not context.get(dut.refresh), "the rows are not closed yet"
        await context.tick()
        context.set(dut.ready, 1)
        assert context.get(dut.refresh)
        await context.tick()
        assert not context.get(dut.hold)
        assert not context.get(dut.refresh), "one period, one refresh"

    simulate(dut, bench)


def test_time_does_not_count_before_the_start():
    dut = Refresher(period=PERIOD)

    async def bench(context):
        await context.tick().repeat(3 * PERIOD)
        assert not context.get(dut.hold)
        context.set(dut.enable, 1)
        await context.tick().repeat(PERIOD - 1)
        assert not context.get(dut.hold)
        await context.tick()
        assert context.get(dut.hold)

    simulate(dut, bench)
