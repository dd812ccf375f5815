"""Rates and latencies of the controller, measured in cycles."""
from cocotb.triggers import ClockCycles

from tests.hw.sdram.chip_bench import CHIP, ChipBench

#: Bytes of a row, and from a row to the next of the same bank.
ROW = CHIP.size >> CHIP.row_bits + 2
SAME_BANK = 4 * ROW

#: Bytes of the streams.
BYTES = 16_000


class Rates:
    """Measures on a controller that has started.

    Parameters
    ----------
    bench : ChipBench
        The controller, and its chip.
    """

    def __init__(self, bench: ChipBench):
        self._bench, self._size = bench, bench.bus_bytes

    async def cycles(self, plan) -> int:
        """Cycles of some accesses in one go, the way there and back included."""
        await ClockCycles(self._bench.dut.clk, 50)
        start = self._bench.cycle
        await self._bench.access(plan)
        return self._bench.cycle - start

    async def stream(self, *, write, run=None, stride=0) -> float:
        """Bytes a cycle of a long stream, of one piece or of runs of so many bytes, ``stride``
        apart."""
        run, beats = run or BYTES, BYTES // self._size
        plan = [(index * self._size // run * stride + index * self._size % run,
                 index if write else None) for index in range(beats)]
        return beats * self._size / await self.cycles(plan)

    async def latency(self, address, before) -> int:
        """Cycles from a single read's request to its beat, some cycles after an access."""
        await self._bench.access([(before, None)])
        await ClockCycles(self._bench.dut.clk, 20)
        return await self.cycles([(address, None)]) - 1

    async def typical_latency(self, address, before, *, trials=41) -> int:
        """Median of that: a refresh may come in between."""
        return sorted([await self.latency(address, before) for _ in range(trials)])[trials // 2]
