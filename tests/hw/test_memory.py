# amaranth: UnusedElaboratable=no
"""Memory against an array of words, every mask bit, and its rejections."""
import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.memory import READ_LATENCY, Memory
from tests.bench import parameters, reset, simulate


@cocotb.test(timeout_time=100, timeout_unit="us")
async def reads_what_was_written(dut):
    """Random masked writes and reads, one of each a cycle; data stay until the next read."""
    width, depth, granularity = (parameters()[key] for key in ("width", "depth", "granularity"))
    chosen = random.Random(cocotb.RANDOM_SEED)
    edge, words, units = RisingEdge(dut.clk), [0] * depth, width // granularity
    for name in ("read__valid", "read__address", "write__mask", "write__address", "write__data"):
        dut[name].value = 0
    await reset(dut)
    # Initial contents are not promised: write all words first.
    for address in range(depth):
        await write(dut, edge, words, address, (1 << units) - 1, chosen.getrandbits(width),
                    granularity)
    # What the read port must show: first in a cycle, then later by the registers of the ports.
    latency = READ_LATENCY + parameters()["port_cycles"]
    expected = deque([None] * latency)
    for _ in range(1500):
        reading, address = chosen.random() < 0.6, chosen.randrange(depth)
        dut.read__valid.value, dut.read__address.value = reading, address
        other = chosen.choice([word for word in range(depth) if word != address])
        expected.append(words[address] if reading else expected[-1])
        await write(dut, edge, words, other, chosen.getrandbits(units), chosen.getrandbits(width),
                    granularity, before=expected.popleft())


async def write(dut, edge, words, address, mask, data, granularity, *, before=None):
    """One cycle with a write; read data in it must be ``before``, where that is known."""
    dut.write__mask.value, dut.write__address.value, dut.write__data.value = mask, address, data
    await edge
    if before is not None:
        assert int(dut.read__data.value) == before
    for unit in range(mask.bit_length()):
        if mask >> unit & 1:
            bits = (1 << granularity) - 1 << unit * granularity
            words[address] = words[address] & ~bits | data & bits


@pytest.mark.parametrize(("width", "depth", "granularity", "port_cycles"), [
    (32, 16, 8, 0), (48, 5, 48, 0), (6, 64, 1, 0), (32, 16, 8, 1)])
def test_memory(width, depth, granularity, port_cycles):
    sizes = {"width": width, "depth": depth, "granularity": granularity,
             "port_cycles": port_cycles}
    memory = Memory(**sizes)
    assert (memory.width, memory.depth, memory.granularity) == (width, depth, granularity)
    simulate(memory, f"memory_{width}x{depth}_by_{granularity}_{port_cycles}", __name__,
             parameters=sizes)


@pytest.mark.parametrize(("changes", "error", "message"), [
    ({"width": "8"}, TypeError, "width must be an integer, not '8'"),
    ({"depth": True}, TypeError, "depth must be an integer, not True"),
    ({"width": 0}, ValueError, "width must be at least 1, not 0"),
    ({"depth": 1}, ValueError, "depth must be at least 2, not 1"),
    ({"granularity": 0}, ValueError, "granularity must be at least 1, not 0"),
    ({"port_cycles": 2}, ValueError, "port_cycles must be at most 1, not 2"),
    ({"granularity": 12}, ValueError, "granularity must divide width (32), not be 12"),
])
def test_rejects(changes, error, message):
    with pytest.raises(error) as caught:
        Memory(**{"width": 32, "depth": 16} | changes)
    assert str(caught.value) == message
