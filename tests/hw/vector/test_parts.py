# amaranth: UnusedElaboratable=no
"""Delays, address generator and retirement."""
import random
import re

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.vector.address import AddressGenerator
from systolith.hw.vector.delay import Ring
from systolith.hw.vector.retire import Retire
from systolith.hw.vector.shared_memory import SharedMemory
from tests.bench import parameters, reset, simulate
from tests.hw.vector.lanes import stream_through


def only_for(block: str):
    """A cocotb test that only runs on this block."""
    return cocotb.test(skip=parameters().get("block") != block)


@only_for("ring")
async def delays(dut):
    words = [random.Random(1).randrange(1 << 9) for _ in range(200)]
    assert await stream_through(dut, {"i": words}, "o", parameters()["cycles"]) == words


@pytest.mark.parametrize("cycles", [2, 3, 7, 8])
def test_ring(cycles):
    simulate(Ring(width=9, cycles=cycles), "ring", __name__,
             parameters={"block": "ring", "cycles": cycles})


@only_for("address")
async def walks(dut):
    """Random loops; a new one is loaded while the last beat of the former advances."""
    rng = random.Random(2)
    for name in ("load", "advance", "row_end"):
        dut[name].value = 0
    await reset(dut)
    for _ in range(40):
        rows, beats, place = rng.randint(1, 4), rng.randint(1, 9), rng.choice([0, 1, 3])
        base, row, tile = rng.randrange(1 << 10), rng.randrange(1 << 10), rng.randrange(1 << 6)
        dut.advance.value, dut.load.value, dut.base.value = 1, 1, base
        await RisingEdge(dut.clk)
        dut.load.value, dut.last_place.value = 0, place
        dut.row_step.value, dut.tile_step.value = row, tile
        for m in range(rows):
            for n in range(beats):
                while rng.random() < 0.3:
                    dut.advance.value = 0
                    await RisingEdge(dut.clk)
                dut.advance.value, dut.row_end.value = 1, n == beats - 1
                if (m, n) == (rows - 1, beats - 1):
                    dut.load.value, dut.base.value = 1, 77
                await RisingEdge(dut.clk)
                assert int(dut.address.value) == base + m * row + n // (place + 1) * tile
                assert int(dut.place.value) == n % (place + 1)
        dut.load.value = dut.advance.value = 0
        await RisingEdge(dut.clk)
        assert int(dut.address.value) == 77


def test_address():
    simulate(AddressGenerator(place_bits=2), "address_generator", __name__,
             parameters={"block": "address"})


@only_for("retire")
async def retires_in_order(dut):
    late = parameters()["late"]
    rng = random.Random(3)
    dut.done.value = dut.reduces.value = 0
    await reset(dut)
    due, got = [], []
    for cycle in range(600):
        done, reduces = rng.random() < 0.5, rng.random() < (0.1 if cycle < 300 else 0.9)
        dut.done.value, dut.reduces.value = done and cycle < 560, reduces
        await RisingEdge(dut.clk)
        if done and cycle < 560:
            # Early only when nothing that retires late is on its way.
            waits = reduces or (bool(due) and due[-1] >= cycle)
            due.append(cycle + late * waits)
        if int(dut.retire.value):
            got.append(cycle)
    assert got == due == sorted(set(due))


@pytest.mark.parametrize("late", [1, 7])
def test_retire(late):
    simulate(Retire(late_cycles=late), "retirement", __name__,
             parameters={"block": "retire", "late": late})


@pytest.mark.parametrize(("component", "parameters", "message"), [
    (Ring, {"width": 0, "cycles": 2}, "width must be at least 1, not 0"),
    (Ring, {"width": 1, "cycles": 1}, "a ring delays by at least 2 cycles, not 1"),
    (AddressGenerator, {"place_bits": 0}, "place_bits must be at least 1, not 0"),
    (Retire, {"late_cycles": 0}, "late_cycles must be at least 1, not 0"),
    (SharedMemory, {"word_bytes": 4, "depth": 16, "bus_bytes": 8},
     "bus_bytes must be at most word_bytes (4), not 8"),
    (SharedMemory, {"word_bytes": 4, "depth": 16, "bus_bytes": 4, "granularity": 4},
     "granularity must be a multiple of 8, not 4"),
])
def test_rejects(component, parameters, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        component(**parameters)
