"""Row reductions: masks, bubbles, rows of one beat back to back, the longest sums."""
import cocotb
import numpy as np
import pytest

from systolith.hw.isa import Reduce as Mode
from systolith.hw.vector.reduce import Reduce, reduce_latency
from systolith.sw.reference import numerics
from tests.bench import parameters, simulate
from tests.hw.vector.lanes import numbers, pack_lanes, stream_through, unpack_lanes

FUNCTIONS = {Mode.MAX: numerics.reduce_max, Mode.SUM: numerics.reduce_sum,
             Mode.ABSMAX: numerics.reduce_absmax, Mode.INDEX: numerics.reduce_index}


def random_rows(rng, lanes: int, count: int):
    """Rows of (mode, elements, valid count); many of one beat, some all masked or all equal."""
    for _ in range(count):
        beats = 1 if rng.random() < 0.5 else int(rng.integers(2, 6))
        x = numbers(rng, 32, beats * lanes)
        if rng.random() < 0.2:
            x[:] = x[0]
        yield Mode(int(rng.integers(1, 5))), x, int(rng.choice(
            [0, 1, len(x), rng.integers(len(x) + 1)]))


async def reduce_rows(dut, rows, lanes: int, rng, bubbles: float) -> None:
    """Feed rows and compare what stands at the end of each."""
    inputs = {name: [] for name in ("x", "count", "mode", "valid", "first")}
    ends, want = [], []

    def feed(**values):
        for name, value in values.items():
            inputs[name].append(value)

    for mode, x, valid in rows:
        for beat, elements in enumerate(x.reshape(-1, lanes)):
            while rng.random() < bubbles:
                feed(x=int(rng.integers(1 << 30)), count=lanes, mode=int(rng.integers(5)), valid=0,
                     first=int(rng.integers(2)))
            feed(x=pack_lanes(elements, 32), count=int(np.clip(valid - beat * lanes, 0, lanes)),
                 mode=int(mode), valid=1, first=int(beat == 0))
        ends.append(len(inputs["x"]) - 1)
        want.append(int(FUNCTIONS[mode](x, np.arange(len(x)) < valid)))
    got = await stream_through(dut, inputs, "y", reduce_latency(lanes))
    assert [int(unpack_lanes(got[end], 48, 1)[0]) for end in ends] == want


@cocotb.test()
@cocotb.parametrize(bubbles=[0.0, 0.4])
async def random_reductions(dut, bubbles):
    lanes = parameters()["lanes"]
    rng = np.random.default_rng(1)
    await reduce_rows(dut, list(random_rows(rng, lanes, 800)), lanes, rng, bubbles)


@cocotb.test()
@cocotb.parametrize(value=[-(1 << 31), (1 << 31) - 1, 32767])
async def longest_row(dut, value):
    """65,535 elements of the largest magnitude: no sum overflows, no index wraps."""
    lanes = parameters()["lanes"]
    x = np.full(65536, value)
    last = np.arange(65536)
    await reduce_rows(dut, [(Mode.SUM, x, 65535), (Mode.INDEX, last, 65535)], lanes,
                      np.random.default_rng(2), 0.0)


@pytest.mark.parametrize("lanes", [2, 16])
def test_reduce(lanes):
    simulate(Reduce(lanes=lanes), "reduce", __name__, parameters={"lanes": lanes})
