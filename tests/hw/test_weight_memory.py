# amaranth: UnusedElaboratable=no
"""Weight memory: waves at full rate beside both kinds of vector writes and the system port."""
import random

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.config import Config
from systolith.hw.memory import operand_latency
from systolith.hw.weight_memory import WeightMemory
from tests.bench import parameters, reset, simulate
from tests.hw.system_master import SystemMaster

WORDS = 16


def make_config(*, rows, cols, lanes, bus_bytes, port_cycles):
    return Config(name="test", rows=rows, cols=cols, lanes=lanes, wgt_depth=WORDS,
                  bus_bytes=bus_bytes, port_cycles=port_cycles)


class Bench:
    def __init__(self, dut):
        self.dut, self.config = dut, make_config(**parameters())
        self.random = random.Random(cocotb.RANDOM_SEED)
        self.edge = RisingEdge(dut.clk)
        self.words = np.zeros((WORDS, self.config.rows, self.config.cols), dtype=np.uint8)
        self.system = SystemMaster(dut, "system", bus_bytes=self.config.bus_bytes,
                                   latency=self.config.system_read_latency)
        for name in ("array__load", "array__address", "write__valid"):
            dut[name].value = 0

    async def start(self):
        """Reset and write all words through the system port."""
        await reset(self.dut)
        cocotb.start_soon(self.system.watch())
        data = self.random.randbytes(self.words.size)
        await self.system.write(0, data)
        self.words[:] = np.frombuffer(data, dtype=np.uint8).reshape(self.words.shape)

    async def vector_writes(self, count, addresses, *, stall):
        """Straight and transposed writes with random masks."""
        dut, config, choose = self.dut, self.config, self.random.getrandbits
        for _ in range(count):
            while self.random.random() < stall:
                await self.edge
            address, transposed = self.random.choice(addresses), choose(1)
            banks, lanes = choose(config.rows), choose(config.cols)
            data = self.random.randbytes(config.lanes)
            dut.write__valid.value, dut.write__address.value = 1, address
            dut.write__transposed.value = transposed
            dut.write__bank_mask.value, dut.write__lane_mask.value = banks, lanes
            dut.write__data.value = int.from_bytes(data, "little")
            await self.edge
            dut.write__valid.value = 0
            for bank in range(config.rows):
                for lane in range(config.cols):
                    if banks >> bank & 1 and lanes >> lane & 1:
                        source = bank if transposed else lane
                        self.words[address, bank, lane] = data[source % config.lanes]

    async def waves(self, count, addresses, *, stall):
        """Tiles in random order, one a cycle; bank ``r`` answers ``r`` cycles later than bank 0."""
        rows, dut, latency = self.config.rows, self.dut, operand_latency(self.config)
        started = []
        for cycle in range(count + rows + latency):
            loading = cycle < count and self.random.random() >= stall
            address = self.random.choice(addresses)
            dut.array__load.value, dut.array__address.value = loading, address
            started.append(address if loading else None)
            await self.edge
            for row in range(min(rows, cycle + 1 - latency)):
                tile = started[cycle - latency - row]
                if tile is not None:
                    got = int(dut[f"array__data__{row}"].value)
                    want = int.from_bytes(self.words[tile, row].tobytes(), "little")
                    assert got == want, f"bank {row}, word {tile}"


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stall=[0.3, 0.7])
async def three_masters(dut, stall):
    """Waves and system reads in one half of the words, both kinds of writes in the other."""
    bench = Bench(dut)
    await bench.start()
    size = bench.config.rows * bench.config.cols
    for turn in range(2):
        readable = list(range(WORDS // 2)) if turn else list(range(WORDS // 2, WORDS))
        writable = sorted(set(range(WORDS)) - set(readable))
        tasks = [cocotb.start_soon(bench.vector_writes(40, writable[:-1], stall=stall)),
                 cocotb.start_soon(bench.waves(150, readable, stall=stall))]
        for _ in range(3):
            data, mask = bench.random.randbytes(size), bench.random.getrandbits(size)
            await bench.system.write(writable[-1] * size, data, mask=mask, stall=stall)
            word = bench.words[writable[-1]].reshape(-1)
            for place in range(size):
                if mask >> place & 1:
                    word[place] = data[place]
            address = bench.random.choice(readable)
            assert await bench.system.read(address * size, size, stall=stall) == (
                bench.words[address].tobytes())
        for task in tasks:
            await task
    assert await bench.system.read(0, bench.words.size) == bench.words.tobytes()


@cocotb.test(timeout_time=50, timeout_unit="us")
async def system_port_waits_for_its_bank_only(dut):
    """A read waits exactly while the wave is in its bank, a write while the vector unit writes."""
    bench = Bench(dut)
    await bench.start()
    rows, cols = bench.config.rows, bench.config.cols
    dut.write__bank_mask.value = dut.write__lane_mask.value = 0
    dut.system__write__mask.value = 0
    dut.system__read__valid.value = dut.system__write__valid.value = 1
    loads = [0] * rows
    for _ in range(200):
        load, vector = (bench.random.getrandbits(1) for _ in range(2))
        bank, other = (bench.random.randrange(rows) for _ in range(2))
        dut.array__load.value, dut.write__valid.value = load, vector
        for way, place in (("read", bank), ("write", other)):
            dut[f"system__{way}__address"].value = (
                bench.random.randrange(WORDS) * rows + place) * cols
        loads = [load, *loads[:-1]]
        await bench.edge
        assert dut.system__read__ready.value == (not loads[bank])
        assert dut.system__write__ready.value == (not vector)


@pytest.mark.parametrize(("rows", "cols", "lanes", "bus_bytes", "port_cycles"), [
    (4, 4, 4, 4, 0), (8, 4, 2, 4, 0), (4, 8, 4, 4, 0), (8, 4, 2, 4, 1)])
def test_weight_memory(rows, cols, lanes, bus_bytes, port_cycles):
    sizes = {"rows": rows, "cols": cols, "lanes": lanes, "bus_bytes": bus_bytes,
             "port_cycles": port_cycles}
    simulate(WeightMemory(config=make_config(**sizes)),
             f"wgt_{rows}x{cols}_{lanes}_{port_cycles}", __name__, parameters=sizes)


def test_rejects_what_is_no_config():
    with pytest.raises(TypeError, match=r"^config must be a Config, not \{\}$"):
        WeightMemory(config={})
