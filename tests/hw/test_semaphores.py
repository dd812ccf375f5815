# amaranth: UnusedElaboratable=no
"""The semaphores against a list of counts, with random requests and signals."""
import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.isa import Engine
from systolith.hw.semaphores import PRIORITY, Semaphores
from tests.bench import parameters, reset, simulate

SIGNALLERS = parameters().get("signallers", len(Engine))
COUNT, WIDTH = 6, 3
TOP = (1 << WIDTH) - 1


def word(masks):
    return sum(mask << 16 * place for place, mask in enumerate(masks))


async def quiet(dut):
    dut.request.value = dut.wait.value = dut.signal.value = 0
    await reset(dut)


def values(dut):
    return [int(dut["values"].value) >> WIDTH * i & TOP for i in range(COUNT)]


def granted(counts, request, waits):
    """The engine that starts: the first in priority whose semaphores are all positive."""
    for engine in PRIORITY:
        taken = [i for i in range(16) if waits[engine] >> i & 1]
        if request >> engine & 1 and all(i < COUNT and counts[i] for i in taken):
            return engine
    return None


@cocotb.test(timeout_time=200, timeout_unit="us")
async def counts_as_the_model(dut):
    rng = random.Random(3)
    await quiet(dut)
    counts, grants = [0] * COUNT, 0
    for _ in range(3000):
        request = rng.randrange(8)
        waits = [rng.choice([0, 1 << rng.randrange(COUNT), rng.randrange(1 << COUNT),
                             1 << COUNT]) for _ in range(3)]
        signals = [rng.choice([0, 0, 1 << rng.randrange(COUNT), 1 << COUNT])
                   for _ in range(SIGNALLERS)]
        start = granted(counts, request, waits)
        after = [c - (start is not None and waits[start] >> i & 1)
                 + sum(s >> i & 1 for s in signals) for i, c in enumerate(counts)]
        full = [i for i, c in enumerate(after) if c > TOP]
        if full:
            # No overflow in this test: leave those signals away.
            signals = [s & ~sum(1 << i for i in full) for s in signals]
            after = [c - (start is not None and waits[start] >> i & 1)
                     + sum(s >> i & 1 for s in signals) for i, c in enumerate(counts)]
        dut.request.value, dut.wait.value, dut.signal.value = request, word(waits), word(signals)
        await RisingEdge(dut.clk)
        assert values(dut) == counts
        assert int(dut.grant.value) == (0 if start is None else 1 << start)
        assert int(dut.overflow.value) == 0
        counts, grants = after, grants + (start is not None)
    assert grants > 500


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(engine=list(range(SIGNALLERS)))
async def names_who_overflows(dut, engine):
    await quiet(dut)
    signals = [0] * SIGNALLERS
    signals[engine] = 1 << 2
    dut.signal.value = word(signals)
    for _ in range(TOP):
        await RisingEdge(dut.clk)
        assert int(dut.overflow.value) == 0
    # At the top, another signal is too much; one elsewhere by another engine is not.
    signals[(engine + 1) % SIGNALLERS] = 1
    dut.signal.value = word(signals)
    await RisingEdge(dut.clk)
    assert int(dut.overflow.value) == 0
    dut.signal.value = 0
    await RisingEdge(dut.clk)
    assert int(dut.overflow.value) == 1 << engine


@cocotb.test(timeout_time=20, timeout_unit="us")
async def a_taken_count_makes_room(dut):
    await quiet(dut)
    dut.signal.value = word([0, 1, 0, 0])
    for _ in range(TOP):
        await RisingEdge(dut.clk)
    dut.request.value, dut.wait.value = 1 << Engine.VECTOR, word([0, 0, 1])
    await RisingEdge(dut.clk)
    assert int(dut.grant.value) == 1 << Engine.VECTOR
    assert values(dut)[0] == TOP
    dut.signal.value = 0
    await RisingEdge(dut.clk)
    assert int(dut.overflow.value) == 0


@pytest.mark.parametrize("signallers", [len(Engine), len(Engine) + 1])
def test_semaphores(signallers):
    simulate(Semaphores(count=COUNT, width=WIDTH, signallers=signallers),
             f"semaphores{signallers}", __name__, parameters={"signallers": signallers})


@pytest.mark.parametrize(("count", "width", "message"), [
    (0, 8, "Number of semaphores must be from 1 to 16, not 0"),
    (17, 8, "Number of semaphores must be from 1 to 16, not 17"),
    (16, 0, "Semaphore width must be a positive integer, not 0"),
])
def test_rejections(count, width, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Semaphores(count=count, width=width)
