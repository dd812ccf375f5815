# amaranth: UnusedElaboratable=no
"""The UART sender: all bytes, in their time, with and without gaps."""
import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.link.baud import baud_step
from systolith.hw.link.uart_sender import UartSender
from tests.bench import Stream, parameters, reset, simulate
from tests.hw.link.line import FRAME_BITS

RATIOS = (4, 4.17, 16.67)


async def samples(dut, count):
    """The line in each of so many cycles."""
    values = []
    for _ in range(count):
        await RisingEdge(dut.clk)
        values.append(int(dut.line.value))
    return values


def decoded(values, ratio):
    """Bytes in samples of a line, each bit taken in its middle."""
    place = 0
    while 0 in values[place:]:
        place = values.index(0, place)
        bits = [values[place + int((bit + 0.5) * ratio)] for bit in range(FRAME_BITS)]
        assert (bits[0], bits[-1]) == (0, 1), bits
        yield sum(level << bit for bit, level in enumerate(bits[1:9]))
        place += int((FRAME_BITS - 0.5) * ratio)


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(stall=[0, 0.98])
async def sends_all_bytes(dut, stall):
    ratio = parameters()["ratio"]
    i = Stream(dut, "i")
    await reset(dut, sources=[i])
    data = [*range(256), *random.Random(1).randbytes(20)]
    sending = cocotb.start_soon(i.send(data, stall=stall))
    cycles = int((FRAME_BITS * ratio + (50 if stall else 0) + 1) * (len(data) + 5))
    assert list(decoded(await samples(dut, cycles), ratio)) == data
    assert sending.done()


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def leaves_no_gaps(dut):
    ratio = parameters()["ratio"]
    i = Stream(dut, "i")
    await reset(dut, sources=[i])
    cocotb.start_soon(i.send([0x55] * 100))
    values = await samples(dut, int(1100 * ratio))
    first = values.index(0)
    last = len(values) - values[::-1].index(0)
    # The stop bit of the last byte is not in it.
    assert abs((last - first) - (1000 - 1 - 1) * ratio) <= ratio + 2


@pytest.mark.parametrize("ratio", RATIOS)
def test_sender(ratio):
    step = baud_step(clock_hz=ratio * 1e6, baud=1e6)
    simulate(UartSender(step=step), "uart_sender", __name__, parameters={"ratio": ratio})
