"""What the controller reaches of two bytes a cycle, how long a single read takes, and that the
simulated memory named `sdram` is like that."""
import cocotb
import pytest

from systolith.hw.boards.boards import BOARDS
from systolith.hw.configs import CONFIGS
from systolith.hw.sdram.sdram import Sdram
from systolith.sw.estimate import external_memory
from tests.bench import simulate
from tests.hw.sdram.chip_bench import CHIP, ChipBench
from tests.hw.sdram.measured import ROW, SAME_BANK, Rates

#: Clock of the fastest board.
MHZ = max(board.clock_mhz for board in BOARDS.values() if board.sdram)
#: How much a rate may differ from that of the simulated memory, as a part of it.
TOLERANCE = 0.01

#: Part of that rate that is left by direction (whether it writes) and bytes in each row, where all
#: rows are of one bank.
SAME_BANK_SHARES = {False: {16: 0.67, 64: 0.89, 256: 0.97},
                    True: {16: 0.62, 64: 0.87, 256: 0.966}}

CONFIG = {config.bus_bytes: config for config in CONFIGS.values()}


async def started(dut):
    bench = ChipBench(dut)
    await bench.start()
    # The startup is no part of what is measured.
    await bench.access([(0, None)])
    return Rates(bench), external_memory("sdram", CONFIG[bench.bus_bytes])


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(write=[False, True])
async def long_streams(dut, write):
    rates, simulated = await started(dut)
    for run, stride in ((None, 0), (256, 1152), (64, 384), (64, ROW)):
        found = await rates.stream(write=write, run=run, stride=stride)
        assert found == pytest.approx(simulated.bytes_per_cycle, rel=TOLERANCE), (run, stride)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(write=[False, True])
async def rows_of_one_bank(dut, write):
    """Nothing is worse: each run is in another row of the same bank."""
    rates, simulated = await started(dut)
    for run, share in SAME_BANK_SHARES[write].items():
        found = await rates.stream(write=write, run=run, stride=SAME_BANK)
        assert found == pytest.approx(share * simulated.bytes_per_cycle, rel=0.02)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def single_reads(dut):
    rates, simulated = await started(dut)
    assert await rates.typical_latency(64, 0) == simulated.latency
    # Another row of the bank is closed and opened first.
    assert await rates.typical_latency(SAME_BANK, 0) == simulated.latency + 3


@pytest.mark.parametrize("bus_bytes", [4, 16])
def test_rates(bus_bytes):
    simulate(Sdram(bus_bytes=bus_bytes, chip=CHIP, clock_hz=1e6 * MHZ), f"rates_{bus_bytes}",
             __name__, parameters={"bus_bytes": bus_bytes, "clock_hz": 1e6 * MHZ})
