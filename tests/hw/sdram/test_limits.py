"""The controller keeps each time exactly, and the chip's model would see if it did not: a chip that
asks for one cycle more than the controller gives complains of just that."""
from dataclasses import replace

import cocotb
import pytest

from systolith.hw.sdram.sdram import Sdram
from systolith.hw.sdram.timing import SdramChip, SdramTiming
from tests.bench import simulate
from tests.hw.sdram.chip_bench import ChipBench

CLOCK_HZ = 100e6
CYCLE_NS = 1e9 / CLOCK_HZ

#: Each of its times can be the one that decides: no other is so long that it covers it.
TIMING = SdramTiming(rcd=30, rp=30, ras=60, rc=110, rfc=150, rrd=40, wr=40, mrd=50, startup=2000,
                     refresh=4000)
CHIP = SdramChip(timing=TIMING)

#: What the chip says when it wants more.
RULES = {"rcd": "tRCD", "rp": "tRP", "ras": "tRAS", "rc": "tRC", "rfc": "tRFC", "rrd": "tRRD",
         "wr": "tWR", "mrd": "tMRD", "startup": "start-up"}


async def complaint(dut, timing):
    """What a chip of these times says of the controller's traffic."""
    bench = ChipBench(dut, chip=SdramChip(timing=timing), strict=False)
    await bench.start()
    for _ in range(8):
        await bench.access(bench.random_plan(100, {}, addresses=bench.random_addresses(40))[0])
    return bench.chip.violation


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_chip_is_content(dut):
    assert await complaint(dut, TIMING) is None


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(name=list(RULES))
async def a_cycle_less_is_seen(dut, name):
    # The chip's clock runs during the reset, too.
    more = 6 if name == "startup" else 1
    timing = replace(TIMING, **{name: getattr(TIMING, name) + more * CYCLE_NS})
    assert RULES[name] in await complaint(dut, timing)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(share=[0.5, 0.9])
async def refreshes_that_come_too_late_are_seen(dut, share):
    timing = replace(TIMING, refresh=share * TIMING.refresh)
    assert "refresh interval" in await complaint(dut, timing)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_cas_latency_that_does_not_go_with_the_clock_is_seen(dut):
    assert "CAS latency" in await complaint(dut, replace(TIMING, cas2=TIMING.cas2 + CYCLE_NS))


@pytest.mark.parametrize("bus_bytes", [4, 16])
def test_limits(bus_bytes):
    simulate(Sdram(bus_bytes=bus_bytes, chip=CHIP, clock_hz=CLOCK_HZ), f"limits_{bus_bytes}",
             __name__, parameters={"bus_bytes": bus_bytes, "clock_hz": CLOCK_HZ})
