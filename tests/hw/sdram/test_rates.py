"""What the controller reaches of two bytes a cycle, and how long a single read takes."""
import cocotb
import pytest

from systolith.hw.sdram.sdram import Sdram
from tests.bench import simulate
from tests.hw.sdram.chip_bench import CHIP, ChipBench
from tests.hw.sdram.measured import ROW, SAME_BANK, Rates


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def measure(dut):
    bench = ChipBench(dut)
    await bench.start()
    rates = Rates(bench)
    for write in (False, True):
        open("/tmp/rates.txt","a").write(f"{bench.bus_bytes} {bench._clock_hz:g} M stream write={write} {await rates.stream(write=write):.3f}\n")
        for run in (16, 64, 256):
            for stride in (ROW, SAME_BANK, 384, 1152):
                open("/tmp/rates.txt","a").write(f"{bench.bus_bytes} {bench._clock_hz:g} M write={write} run {run} stride {stride} {await rates.stream(write=write, run=run, stride=stride):.3f}\n")
    open("/tmp/rates.txt","a").write(f"{bench.bus_bytes} {bench._clock_hz:g} M hit {await rates.typical_latency(64, 0)}\n")
    open("/tmp/rates.txt","a").write(f"{bench.bus_bytes} {bench._clock_hz:g} M closed {await rates.typical_latency(ROW, 0)}\n")
    open("/tmp/rates.txt","a").write(f"{bench.bus_bytes} {bench._clock_hz:g} M other row {await rates.typical_latency(SAME_BANK, 0)}\n")


@pytest.mark.parametrize(("bus_bytes", "mhz"), [(4, 40), (16, 40), (4, 100), (16,100)])
def test_rates(bus_bytes, mhz):
    simulate(Sdram(bus_bytes=bus_bytes, chip=CHIP, clock_hz=mhz * 1e6),
             f"rates_{bus_bytes}_{mhz}", __name__,
             parameters={"bus_bytes": bus_bytes, "clock_hz": mhz * 1e6})
    assert 0
