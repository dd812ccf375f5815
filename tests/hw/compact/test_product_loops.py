"""The loops of a compact core's products: their beats in order, and how close they come."""
import random

import pytest

from systolith.hw.compact.product_loops import CompactLoops, Flag, Setup
from systolith.hw.configs import get_config
from systolith.hw.isa import Product
from tests.hw.product_model import beats
from tests.hw.sdram.simulated import simulate

CONFIG = get_config("ice40up5k")


def setup(command):
    """What the engine writes, in its order."""
    counts = [getattr(command, f"count{loop}") for loop in range(3)]
    for loop, count in enumerate(counts):
        yield Setup.COUNTS + loop, count - 1
    flags = Flag.GO
    for flag, name in ((Flag.UNSIGNED, "left_unsigned"), (Flag.ACCUMULATE, "accumulate"),
                       (Flag.WGT0_MOVES, "wgt0_stride"), (Flag.ACC0_MOVES, "acc0_stride"),
                       (Flag.ACC1_MOVES, "acc1_stride"), (Flag.ACC2_MOVES, "acc2_stride")):
        if getattr(command, name):
            flags |= flag
    for name in ("act", "wgt", "acc"):
        yield Setup[name.upper()], getattr(command, f"{name}_base")
        extent = 0
        for loop, count in enumerate(counts):
            stride = getattr(command, f"{name}{loop}_stride")
            yield Setup[name.upper()] + 1 + loop, (stride - extent) & 0xFFFFFFFF
            extent += stride * (count - 1)
    yield Setup.START, flags


def random_command(chosen):
    strides = {f"{name}{loop}_stride": chosen.choice([0, 0, 1, 2, 9])
               for name in ("act", "wgt", "acc") for loop in range(3)}
    counts = {f"count{loop}": chosen.randrange(1, 5) for loop in range(3)}
    return Product(**strides, **counts, act_base=3, wgt_base=70, acc_base=5,
                   accumulate=chosen.getrandbits(1), left_unsigned=chosen.getrandbits(1))


async def write(context, dut, command):
    context.set(dut.write, 1)
    for place, value in setup(command):
        context.set(dut.place, int(place))
        context.set(dut.data, value)
        await context.tick()
    context.set(dut.write, 0)


def expected_times(expected, holds):
    """Cycles of beats: one a cycle, but two from a load to the next, and behind the same sums."""
    cycle, times = 0, []
    for index, beat in enumerate(expected):
        before = expected[index - 1] if index else None
        if before and ((before.load and beat.load) or before.acc == beat.acc) \
                and cycle == times[-1] + 1:
            cycle += 1
        while holds(cycle):
            cycle += 1
        times.append(cycle)
        cycle += 1
    return times


@pytest.mark.parametrize("held", [0.0, 0.3])
def test_beats(held):
    chosen = random.Random(1)
    dut = CompactLoops(config=CONFIG)

    async def bench(context):
        for _ in range(60):
            command = random_command(chosen)
            expected = list(beats(command))
            await write(context, dut, command)
            holds = [chosen.random() < held for _ in range(1000)]
            found, cycle = [], 0
            while context.get(dut.running):
                context.set(dut.hold, holds[cycle])
                if context.get(dut.beat.valid):
                    found.append((cycle, *(context.get(getattr(dut.beat, name)) for name in (
                        "act", "wgt", "acc", "first", "load"))))
                assert context.get(dut.unsigned) == command.left_unsigned
                await context.tick()
                cycle += 1
            context.set(dut.hold, 0)
            times = expected_times(expected, holds.__getitem__)
            assert found == [(time, beat.act, beat.wgt, beat.acc, beat.first, beat.load)
                             for time, beat in zip(times, expected, strict=True)]
    simulate(dut, bench)


def test_a_start_without_go_stops_it():
    dut = CompactLoops(config=CONFIG)

    async def bench(context):
        await write(context, dut, Product(count0=100, count1=1, count2=1))
        assert context.get(dut.running)
        context.set(dut.write, 1)
        context.set(dut.place, int(Setup.START))
        context.set(dut.data, 0)
        await context.tick()
        assert not context.get(dut.running)
    simulate(dut, bench)
