# amaranth: UnusedElaboratable=no
"""The UART receiver: all bytes, at and off their rate, and what is no byte."""
import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from systolith.hw.link.baud import baud_step
from systolith.hw.link.uart_receiver import UartReceiver
from tests.bench import parameters, reset, simulate
from tests.hw.link.line import PERIOD, send_bytes

#: Cycles a bit: the fewest, an awkward fraction just above, and more.
RATIOS = (4, 4.17, 8, 16.67)


async def collect(dut, received, broken):
    while True:
        await RisingEdge(dut.clk)
        if dut.valid.value:
            received.append(int(dut.data.value))
        broken[0] += int(dut.broken.value)


async def start_receiver(dut):
    dut.line.value = 1
    await reset(dut)
    received, broken = [], [0]
    cocotb.start_soon(collect(dut, received, broken))
    return received, broken


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(off=[-0.02, 0, 0.02])
async def receives_all_bytes(dut, off):
    received, broken = await start_receiver(dut)
    bit = parameters()["ratio"] / (1 + off)
    data = [0, 255, *range(256), 0x55, 0xAA]
    # Every phase of the line against the clock.
    for phase in range(0, PERIOD, PERIOD // 4):
        await Timer(PERIOD * 3 + phase, "ps")
        await send_bytes(dut.line, data, bit=bit)
    await ClockCycles(dut.clk, 30)
    assert received == data * 4
    assert broken == [0]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def drops_a_byte_without_stop_bit(dut):
    received, broken = await start_receiver(dut)
    bit = parameters()["ratio"]
    await send_bytes(dut.line, [0x12], bit=bit, stop=0)
    await ClockCycles(dut.clk, 40)
    await send_bytes(dut.line, [0x34], bit=bit)
    await ClockCycles(dut.clk, 40)
    assert (received, broken) == ([0x34], [1])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_line_held_low_is_one_broken_byte(dut):
    received, broken = await start_receiver(dut)
    dut.line.value = 0
    await ClockCycles(dut.clk, 1000)
    dut.line.value = 1
    await ClockCycles(dut.clk, 100)
    await send_bytes(dut.line, [0x56], bit=parameters()["ratio"])
    await ClockCycles(dut.clk, 40)
    assert (received, broken) == ([0x56], [1])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_spike_is_no_byte(dut):
    received, broken = await start_receiver(dut)
    dut.line.value = 0
    await ClockCycles(dut.clk, 1)
    dut.line.value = 1
    await ClockCycles(dut.clk, 300)
    assert (received, broken) == ([], [0])


@pytest.mark.parametrize("ratio", RATIOS)
def test_receiver(ratio):
    step = baud_step(clock_hz=ratio * 1e6, baud=1e6)
    simulate(UartReceiver(step=step), "uart_receiver", __name__, parameters={"ratio": ratio})
