"""The counters against sums in Python."""
import random

import cocotb
from cocotb.triggers import RisingEdge

from systolith.hw.counters import Counters
from systolith.hw.isa import ENGINES, Counter
from tests.bench import reset, simulate

EVENTS = ("active", "stall", "waiting", "fenced", "retire")
BEAT = 16


def kind(active, stall, waiting, fenced):
    """What one cycle of an engine counts as."""
    if active:
        return Counter.STALL if stall else Counter.BUSY
    return Counter.WAIT_SEMAPHORE if waiting else Counter.WAIT_FENCE if fenced else None


def values(dut):
    bits = int(dut["values"].value)
    return [[bits >> 32 * (5 * e + c) & 0xFFFFFFFF for c in Counter] for e in ENGINES]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def counts_each_cycle_once(dut):
    rng = random.Random(1)
    dut.enable.value = dut.clear.value = dut.moved.value = 0
    for engine in ENGINES:
        for event in EVENTS:
            dut[f"{engine.name.lower()}__{event}"].value = 0
    await reset(dut)
    cycles = moved = 0
    expected = [[0] * len(Counter) for _ in ENGINES]
    for _ in range(1500):
        enable, move, clear = (rng.random() < p for p in (0.7, 0.5, 0.002))
        dut.enable.value, dut.moved.value, dut.clear.value = enable, move, clear
        for engine in ENGINES:
            events = {event: rng.random() < 0.5 for event in EVENTS}
            # The sequencer waits for one thing at a time.
            events["fenced"] = events["fenced"] and not events["waiting"]
            for event, happens in events.items():
                dut[f"{engine.name.lower()}__{event}"].value = happens
            counted = kind(*(events[event] for event in EVENTS[:4]))
            if enable and counted is not None:
                expected[engine][counted] += 1
            expected[engine][Counter.COMMANDS] += events["retire"]
        cycles, moved = cycles + enable, moved + BEAT * move
        if clear:
            cycles, moved, expected = 0, 0, [[0] * len(Counter) for _ in ENGINES]
        await RisingEdge(dut.clk)
        dut.clear.value = 0
        await cocotb.triggers.ReadOnly()
        assert values(dut) == expected
        assert (int(dut.cycles.value), int(dut.move_bytes.value)) == (cycles, moved)
        await cocotb.triggers.NextTimeStep()


def test_counters():
    simulate(Counters(beat_bytes=BEAT), "counters", __name__)
