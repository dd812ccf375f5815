# amaranth: UnusedElaboratable=no
"""The controller with a chip that checks each command: what is written is read, at full rate."""
import re

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from systolith.hw.config import ConfigError
from systolith.hw.sdram.sdram import Sdram
from tests.bench import simulate
from tests.hw.sdram.chip_bench import CHIP, ChipBench

MHZ = 1e6


async def started(dut):
    bench = ChipBench(dut)
    await bench.start()
    return bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stall=[0.0, 0.6], writes=[0.5, 0.1])
async def what_is_written_is_read(dut, stall, writes):
    bench = await started(dut)
    known = {}
    for _ in range(6):
        plan, expected = bench.random_plan(100, known, addresses=bench.random_addresses(40),
                                           writes=writes)
        assert await bench.access(plan, stall=stall) == expected
    bench.check_refreshes()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def memory_is_where_its_address_says(dut):
    bench = await started(dut)
    beats = {address: 0x0123456789ABCDEF0123456789ABCDEF % (1 << 8 * bench.bus_bytes) ^ address
             for address in (0, bench.bus_bytes, 1 << 10, 1 << 12, CHIP.size - bench.bus_bytes)}
    await bench.access(list(beats.items()))
    assert await bench.access([(address, None) for address in beats]) == list(beats.values())
    for address, beat in beats.items():
        words = [bench.chip.word(address // 2 + index) for index in range(bench.bus_bytes // 2)]
        assert sum(word << 16 * index for index, word in enumerate(words)) == beat
    # Beyond the end it starts again.
    assert await bench.access([(CHIP.size, None)]) == [beats[0]]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_user_that_forgets_gets_only_what_it_asks_for_after(dut):
    bench = await started(dut)
    known = {}
    addresses = bench.random_addresses(60)
    await bench.access(bench.random_plan(120, known, addresses=addresses, writes=1)[0])
    for trial in range(60):
        plan, _ = bench.random_plan(30, dict(known), addresses=list(known), writes=0.0)
        scratch = (CHIP.size // 2 + (1 << 10), trial)
        task = cocotb.start_soon(bench.access([*plan[:10], scratch, *plan[10:]]))
        await ClockCycles(dut.clk, 5 + trial % 45)
        task.cancel()
        for stream in (bench.request, bench.write):
            stream.idle(source=True)
        bench.read.idle(source=False)
        dut.forget.value = 1
        await ClockCycles(dut.clk, 1)
        dut.forget.value = 0
        plan, expected = bench.random_plan(8, known, addresses=list(known), writes=0.2)
        assert await bench.access(plan) == expected
    bench.check_refreshes()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_user_that_takes_nothing_does_not_stop_the_refreshes(dut):
    bench = await started(dut)
    plan = [(bench.bus_bytes * index, None) for index in range(100)]
    task = cocotb.start_soon(bench.request.send([{"address": a, "write": 0} for a, _ in plan]))
    await ClockCycles(dut.clk, 4000)
    assert not task.done()
    bench.check_refreshes()
    await bench.read.receive(100)
    # A write whose beat does not come does not, either.
    task = cocotb.start_soon(bench.request.send([{"address": 0, "write": 1}]))
    await ClockCycles(dut.clk, 4000)
    await bench.write.send([5])
    await task
    assert await bench.access([(0, None)]) == [5]


@pytest.mark.parametrize(("bus_bytes", "mhz"), [
    (4, 40), (8, 40), (16, 40), (4, 24), (4, 100), (16, 133)])
def test_sdram(bus_bytes, mhz):
    dut = Sdram(bus_bytes=bus_bytes, chip=CHIP, clock_hz=mhz * MHZ)
    simulate(dut, f"sdram_{bus_bytes}_{mhz}", __name__,
             parameters={"bus_bytes": bus_bytes, "clock_hz": mhz * MHZ})


@pytest.mark.parametrize("bus_bytes", [2, 32, 4.5])
def test_rejects_a_beat_that_is_no_burst(bus_bytes):
    message = re.escape(f"bus_bytes must be one of 4, 8, 16, not {bus_bytes!r}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        Sdram(bus_bytes=bus_bytes, chip=CHIP, clock_hz=40 * MHZ)


def test_rejects_a_clock_whose_edges_miss_the_data():
    with pytest.raises(ConfigError, match="at 200 MHz no edge of the FPGA's clock meets"):
        Sdram(bus_bytes=4, chip=CHIP, clock_hz=200 * MHZ)
