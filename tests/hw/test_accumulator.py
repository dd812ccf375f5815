# amaranth: UnusedElaboratable=no
"""Accumulators: any order of addresses at full rate, INT32 wrap, and who reads a half when."""
import random
from collections import deque

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.accumulator import Accumulator, sums_delay
from systolith.hw.config import Config
from systolith.sw.reference import numerics
from tests.bench import parameters, reset, simulate
from tests.hw.system_master import SystemMaster

WORDS = 16


def make_config(**sizes):
    return Config(name="test", lanes=4, acc_depth=WORDS, **sizes)


class Bench:
    """Drives the array's port and keeps what the memory holds, with the writes that are ahead."""

    def __init__(self, dut):
        self.dut, self.config = dut, make_config(**parameters())
        self.random = random.Random(cocotb.RANDOM_SEED)
        self.numbers = np.random.default_rng(cocotb.RANDOM_SEED)
        self.edge = RisingEdge(dut.clk)
        self.acc = np.zeros((WORDS, self.config.cols), dtype=np.int64)
        # The last beats, newest first: (address, first) or None.
        ahead = self.config.accumulate_latency + 1
        self.beats: deque = deque([None] * ahead, maxlen=ahead)
        self.sums: deque = deque([self._sums(0)] * sums_delay(self.config))
        self.system = SystemMaster(dut, "system", bus_bytes=self.config.bus_bytes,
                                   latency=self.config.system_read_latency)
        for name in ("array__valid", "array__address", "array__first", "read__valid"):
            dut[name].value = 0

    def _sums(self, magnitude):
        return self.numbers.integers(-magnitude, magnitude + 1, self.config.cols)

    async def start(self):
        """Reset, then set every word, as contents are not promised before."""
        await reset(self.dut)
        cocotb.start_soon(self.system.watch())
        for word in range(WORDS):
            await self.beat(word, first=True)
        await self.drain()

    async def beat(self, address=None, *, first=False, sums=None):
        """One cycle, with a beat where there is an address; counted in NumPy at once."""
        dut, width = self.dut, self.config.chain_width
        if sums is None:
            sums = self._sums((1 << width - 1) - 1)
        self.sums.append(sums)
        dut.array__valid.value = address is not None
        dut.array__address.value = self.random.randrange(WORDS) if address is None else address
        dut.array__first.value = int(first)
        for column, value in enumerate(self.sums.popleft()):
            dut[f"array__sums__{column}"].value = int(value) & (1 << width) - 1
        if address is not None:
            self.acc[address] = numerics.wrap32((0 if first else self.acc[address]) + sums)
        await self.edge
        self.beats.appendleft(None if address is None else (address, first))

    async def drain(self):
        for _ in range(self.config.accumulate_latency + 1):
            await self.beat()

    def settled(self, address):
        """No write of the word is ahead."""
        return all(beat is None or beat[0] != address for beat in self.beats)

    def array_reads(self):
        """Address that the array reads in the coming cycle, if any."""
        newest, *former = list(self.beats)[:self.config.accumulate_latency]
        if newest is None or newest[1] or any(
                beat is not None and beat[0] == newest[0] for beat in former):
            return None
        return newest[0]

    async def check(self):
        await self.drain()
        data = await self.system.read(0, 4 * self.acc.size)
        np.testing.assert_array_equal(np.frombuffer(data, "<i4").reshape(self.acc.shape), self.acc)


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stall=[0.0, 0.5])
async def any_order_at_full_rate(dut, stall):
    """Few words, so that beats of the same word follow at every distance, with bubbles or not."""
    bench = Bench(dut)
    await bench.start()
    for words in ([3], [3, 12], [0, 1, 2], [5, 6, 7, 8], [1, 2, 9, 10, 11, 15], range(WORDS)):
        for _ in range(120):
            if bench.random.random() < stall:
                await bench.beat()
            await bench.beat(bench.random.choice(words), first=bench.random.random() < 0.1)
        await bench.check()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def wraps_at_32_bits(dut):
    """The largest sums, up and down past both ends of INT32."""
    bench = Bench(dut)
    await bench.start()
    largest = (1 << bench.config.chain_width - 1) - 1
    beats = (1 << 31) // largest + 20
    if beats > 1000:
        return  # Only the longest chain gets there in a reasonable time.
    for value, word in ((largest, 2), (-largest - 1, 13)):
        sums = np.full(bench.config.cols, value)
        await bench.beat(word, first=True, sums=sums)
        for _ in range(beats):
            await bench.beat(word, sums=sums)
        assert (bench.acc[word] < 0).all() == (value > 0)
    await bench.check()


@cocotb.test(timeout_time=200, timeout_unit="us")
async def readers_take_what_the_array_leaves(dut):
    """The vector unit waits exactly while the array reads its half; the system port for both."""
    bench = Bench(dut)
    await bench.start()
    word_bytes = 4 * bench.config.cols
    expected: deque = deque([None] * bench.config.source_latency)
    waited = served = 0
    for _ in range(1500):
        vector = bench.random.random() < 0.5
        settled = [word for word in range(WORDS) if bench.settled(word)]
        address, other = bench.random.choice(settled), bench.random.choice(settled)
        reads, half = bench.array_reads(), WORDS // 2
        dut.read__valid.value, dut.read__address.value = vector, address
        dut.system__read__valid.value, dut.system__read__address.value = 1, other * word_bytes
        ready = reads is None or reads // half != address // half
        system_ready = (reads is None or reads // half != other // half) and not (
            vector and address // half == other // half)
        due = bench.acc[address].copy() if vector and ready else None
        # The words just read are left alone in this cycle's beat.
        targets = [word for word in range(WORDS) if word not in (address, other)]
        beat = bench.random.choice(targets) if bench.random.random() < 0.7 else None
        await bench.beat(beat, first=bench.random.random() < 0.3)
        assert dut.read__ready.value == ready
        assert dut.system__read__ready.value == system_ready
        expected.append(due)
        wanted = expected.popleft()
        if wanted is not None:
            got = int(dut.read__data.value).to_bytes(word_bytes, "little")
            np.testing.assert_array_equal(np.frombuffer(got, "<i4"), wanted)
        waited, served = waited + (vector and not ready), served + (due is not None)
    assert waited > 50
    assert served > 300
    dut.system__read__valid.value = dut.read__valid.value = 0
    await bench.check()


@cocotb.test(timeout_time=50, timeout_unit="us")
async def system_writes_have_no_effect(dut):
    bench = Bench(dut)
    await bench.start()
    await bench.system.write(0, bytes(4 * bench.acc.size))
    await bench.check()


@pytest.mark.parametrize(("rows", "cols", "bus_bytes", "read_cycles", "port_cycles"), [
    (4, 4, 4, 1, 0), (8, 8, 8, 1, 0), (64, 4, 4, 1, 0), (4, 8, 4, 2, 1)])
def test_accumulator(rows, cols, bus_bytes, read_cycles, port_cycles):
    sizes = {"rows": rows, "cols": cols, "bus_bytes": bus_bytes, "read_cycles": read_cycles,
             "port_cycles": port_cycles}
    simulate(Accumulator(config=make_config(**sizes)), f"acc_{rows}x{cols}_{read_cycles}",
             __name__, parameters=sizes)


def test_rejects_what_is_no_config():
    with pytest.raises(TypeError, match=r"^config must be a Config, not 1\.5$"):
        Accumulator(config=1.5)
