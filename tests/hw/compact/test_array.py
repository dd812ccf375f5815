# amaranth: UnusedElaboratable=no
"""The array of a compact core against NumPy: loads, rows in two halves, and both signs."""
import numpy as np
import pytest

from systolith.hw.compact.array import ACCUMULATOR_CYCLE, CompactArray
from systolith.hw.configs import get_config
from tests.hw.sdram.simulated import simulate

CONFIG = get_config("ice40up5k")
BEATS = 200


def word(values):
    """Bytes, the first lowest."""
    return int.from_bytes(np.asarray(values).astype(np.uint8).tobytes(), "little")


@pytest.mark.parametrize("unsigned", [0, 1])
def test_sums(unsigned):
    rng = np.random.default_rng(unsigned)
    low, high = (0, 256) if unsigned else (-128, 128)
    a = rng.integers(low, high, (BEATS, CONFIG.rows))
    a[rng.random(a.shape) < 0.1] = high - 1
    w = rng.integers(-128, 128, (BEATS, CONFIG.rows, CONFIG.cols))
    w[rng.random(w.shape) < 0.1] = -128
    # A beat with new weights comes two cycles after the one before it, at the earliest.
    loads = rng.random(BEATS) < 0.4
    loads[0] = True
    times = np.cumsum(1 + loads + (rng.random(BEATS) < 0.1))
    current = np.maximum.accumulate(np.where(loads, np.arange(BEATS), 0))
    expected = {int(time) + ACCUMULATOR_CYCLE + 1: a[beat] @ w[current[beat]]
                for beat, time in enumerate(times)}
    at = {int(time): beat for beat, time in enumerate(times)}
    dut = CompactArray(config=CONFIG)

    async def bench(context):
        context.set(dut.unsigned, unsigned)
        for cycle in range(int(times[-1]) + ACCUMULATOR_CYCLE + 2):
            upper, lower = at.get(cycle - 1), at.get(cycle - 2)
            half = CONFIG.rows // 2
            activations = np.zeros(CONFIG.rows, np.int64)
            weights = rng.integers(-128, 128, (half, CONFIG.cols))
            if upper is not None:
                activations[:half] = a[upper, :half]
            if lower is not None:
                activations[half:] = a[lower, half:]
            load = [beat is not None and bool(loads[beat]) for beat in (upper, lower)]
            if load[0]:
                weights = w[upper, :half]
            if load[1]:
                weights = w[lower, half:]
            context.set(dut.activations, word(activations))
            context.set(dut.weights, word(weights))
            context.set(dut.load, load[0] | load[1] << 1)
            if cycle in expected:
                sums = [context.get(getattr(dut, f"sums_{column}")) for column in range(2)]
                assert sums == expected[cycle].tolist(), cycle
            await context.tick()
    simulate(dut, bench)


def test_the_configuration_is_checked():
    with pytest.raises(TypeError, match="config must be a Config, not 8"):
        CompactArray(config=8)
