# amaranth: UnusedElaboratable=no
"""Multipliers in tables of logic against NumPy: every pair of operands, a new one every cycle."""
import re

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.lut_multiplier import LATENCY, LutMultipliers
from tests.bench import parameters, reset, simulate

#: All values of an activation, signed and unsigned, and all of a weight.
LEFTS = np.arange(-128, 256)
RIGHTS = np.arange(-128, 128)


def operands(cols):
    """Every left value with every right one, ``cols`` right ones at a time."""
    lefts = np.repeat(LEFTS, len(RIGHTS) // cols)
    return lefts, np.tile(RIGHTS.reshape(-1, cols), (len(LEFTS), 1))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def multiplies_every_pair(dut):
    """In an order that follows no pattern, so that hardly any operand stays."""
    cols = parameters()["cols"]
    lefts, rights = operands(cols)
    order = np.random.default_rng(cocotb.RANDOM_SEED).permutation(len(lefts))
    lefts, rights = lefts[order], rights[order]
    expected = (lefts[:, np.newaxis] * rights).tolist()
    words = rights.astype(np.int8)
    dut.left.value, dut.rights.value = 0, 0
    await reset(dut)
    for cycle in range(len(lefts) + LATENCY):
        if cycle < len(lefts):
            dut.left.value = int(lefts[cycle]) & 511
            dut.rights.value = int.from_bytes(words[cycle].tobytes(), "little")
        await RisingEdge(dut.clk)
        if cycle >= LATENCY:
            got = [dut[f"products__{column}"].value.to_signed() for column in range(cols)]
            assert got == expected[cycle - LATENCY], (lefts[cycle - LATENCY],
                                                      rights[cycle - LATENCY])


def test_lut_multipliers():
    simulate(LutMultipliers(cols=16), "lut_multipliers", __name__, parameters={"cols": 16})


@pytest.mark.parametrize("cols", [0, 2.0])
def test_rejects(cols):
    with pytest.raises(ValueError, match=f"^cols must be a positive integer, not "
                                         f"{re.escape(repr(cols))}$"):
        LutMultipliers(cols=cols)
