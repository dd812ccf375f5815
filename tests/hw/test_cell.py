# amaranth: UnusedElaboratable=no
"""A row of cells against NumPy, with and without hops."""
import re

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.cell import CELL_LATENCY, CellRow
from tests.bench import parameters, reset, simulate

EXTREMES = (-128, 127, -1, 0, 1)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def multiplies_and_adds(dut):
    """Every operand changes at random in every cycle; extremes are frequent, sums wrap."""
    cols, hop, width = (parameters()[key] for key in ("cols", "hop", "chain_width"))
    numbers, cycles = np.random.default_rng(cocotb.RANDOM_SEED), 800
    left = mixed(numbers, cycles)
    unsigned, load = numbers.integers(0, 2, (2, cycles))
    weights = mixed(numbers, cycles, cols)
    above = numbers.integers(-1 << width - 1, 1 << width - 1, (cycles, cols))
    load[:4] = 1
    products = np.zeros((cycles, cols), dtype=np.int64)
    held = weights[0]
    for cycle in range(cycles):
        held = weights[cycle] if load[cycle] else held
        products[cycle] = (left[cycle] & 255 if unsigned[cycle] else left[cycle]) * held
    for name in ("activation", "left_unsigned", "load", "weights"):
        dut[name].value = 0
    await reset(dut)
    for cycle in range(cycles):
        dut.activation.value = int(left[cycle] & 255)
        dut.left_unsigned.value, dut.load.value = int(unsigned[cycle]), int(load[cycle])
        dut.weights.value = int.from_bytes(weights[cycle].astype(np.int8).tobytes(), "little")
        for column in range(cols):
            dut[f"above__{column}"].value = int(above[cycle, column]) & (1 << width) - 1
        await RisingEdge(dut.clk)
        for column in range(cols):
            start = cycle - CELL_LATENCY - (column // hop if hop else 0)
            if start >= 0:
                total = int(above[cycle - 1, column] + products[start, column])
                got = dut[f"below__{column}"].value.to_signed()
                assert got == wrapped(total, width), f"cycle {cycle}, column {column}"


def mixed(numbers, *shape):
    """Random bytes, every second of them extreme."""
    values = numbers.integers(-128, 128, shape)
    return np.where(numbers.random(shape) < 0.5, numbers.choice(EXTREMES, shape), values)


def wrapped(value, width):
    return (value + (1 << width - 1)) % (1 << width) - (1 << width - 1)


@pytest.mark.parametrize(("cols", "hop", "chain_width"), [(4, 0, 19), (4, 1, 16), (8, 2, 21)])
def test_cell_row(cols, hop, chain_width):
    sizes = {"cols": cols, "hop": hop, "chain_width": chain_width}
    simulate(CellRow(**sizes), f"cells_{cols}_hop{hop}_{chain_width}", __name__, parameters=sizes)


@pytest.mark.parametrize(("changes", "message"), [
    ({"cols": 0}, "cols must be a positive integer, not 0"),
    ({"hop": 3}, "hop must be 0 or a divisor of cols (4), not 3"),
    ({"hop": -1}, "hop must be 0 or a divisor of cols (4), not -1"),
    ({"chain_width": 15}, "chain_width must be an integer of at least 16, not 15"),
])
def test_rejects(changes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        CellRow(**{"cols": 4, "hop": 0, "chain_width": 19} | changes)
