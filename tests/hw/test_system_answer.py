# amaranth: UnusedElaboratable=no
"""Answers on time, and zero at other times."""
import random
import re
from collections import deque

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.system_answer import SystemAnswer
from tests.bench import parameters, reset, simulate


@cocotb.test(timeout_time=50, timeout_unit="us")
async def answers_on_time(dut):
    word_bytes, bus_bytes = parameters()["word_bytes"], parameters()["bus_bytes"]
    chosen = random.Random(cocotb.RANDOM_SEED)
    dut.accept.value = dut.lane.value = dut.word.value = 0
    await reset(dut)
    lanes = deque([None] * parameters()["word_latency"])
    due = deque([0] * (parameters()["latency"] - len(lanes) + 1))
    for _ in range(500):
        word = chosen.getrandbits(8 * word_bytes)
        lane = lanes.popleft()
        answer = 0 if lane is None else word >> 8 * bus_bytes * lane & (1 << 8 * bus_bytes) - 1
        lane = chosen.randrange(word_bytes // bus_bytes) if chosen.random() < 0.6 else None
        lanes.append(lane)
        dut.accept.value, dut.lane.value, dut.word.value = lane is not None, lane or 0, word
        await RisingEdge(dut.clk)
        # The answer to the read whose word is here.
        due[-1] = answer
        assert int(dut.read_data.value) == due.popleft()
        due.append(0)


@pytest.mark.parametrize(("word_bytes", "bus_bytes", "word_latency", "latency"), [
    (4, 4, 1, 3), (16, 4, 1, 3), (8, 4, 2, 3), (8, 4, 3, 5), (32, 4, 2, 5), (64, 4, 3, 5)])
def test_system_answer(word_bytes, bus_bytes, word_latency, latency):
    sizes = {"word_bytes": word_bytes, "bus_bytes": bus_bytes, "word_latency": word_latency,
             "latency": latency}
    simulate(SystemAnswer(**sizes), f"system_answer_{word_bytes}_{bus_bytes}_{latency}", __name__,
             parameters=sizes)


@pytest.mark.parametrize(("word_bytes", "bus_bytes", "message"), [
    (12, 4, "word_bytes must be a power of two, not 12"),
    (16, 0, "bus_bytes must be a power of two, not 0"),
    (4, 8, "bus_bytes must be at most word_bytes (4), not 8"),
])
def test_rejects(word_bytes, bus_bytes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SystemAnswer(word_bytes=word_bytes, bus_bytes=bus_bytes)
