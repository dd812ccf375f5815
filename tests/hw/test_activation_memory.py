# amaranth: UnusedElaboratable=no
"""Activation memory: three masters at once, priorities, and the byte order of the system port."""
import random
from collections import deque

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.activation_memory import ActivationMemory
from systolith.hw.config import Config
from systolith.hw.memory import operand_latency
from tests.bench import parameters, reset, simulate
from tests.hw.system_master import SystemMaster

WORDS = 32


def make_config(*, rows, lanes, bus_bytes, port_cycles):
    return Config(name="test", rows=rows, cols=max(rows, 4), lanes=lanes, act_depth=WORDS,
                  bus_bytes=bus_bytes, port_cycles=port_cycles)


class Bench:
    def __init__(self, dut):
        self.dut, self.config = dut, make_config(**parameters())
        self.random = random.Random(cocotb.RANDOM_SEED)
        self.edge = RisingEdge(dut.clk)
        self.words = np.zeros((WORDS, self.config.rows), dtype=np.uint8)
        self.system = SystemMaster(dut, "system", bus_bytes=self.config.bus_bytes,
                                   latency=self.config.system_read_latency)
        for name in ("array__valid", "array__address", "write__valid"):
            dut[name].value = 0

    async def start(self):
        """Reset and write all words through the system port."""
        await reset(self.dut)
        cocotb.start_soon(self.system.watch())
        data = self.random.randbytes(self.words.size)
        await self.system.write(0, data)
        self.words[:] = np.frombuffer(data, dtype=np.uint8).reshape(self.words.shape)

    async def vector_writes(self, count, addresses, *, stall):
        """Masked writes of the vector unit: each is accepted in its cycle."""
        dut, rows, lanes = self.dut, self.config.rows, self.config.lanes
        for _ in range(count):
            while self.random.random() < stall:
                await self.edge
            address, mask = self.random.choice(addresses), self.random.getrandbits(rows)
            data = self.random.randbytes(lanes)
            dut.write__valid.value, dut.write__address.value = 1, address
            dut.write__mask.value, dut.write__data.value = mask, int.from_bytes(data, "little")
            await self.edge
            assert not (self.dut.system__write__valid.value
                        and self.dut.system__write__ready.value), "two writes in a cycle"
            for row in range(rows):
                if mask >> row & 1:
                    self.words[address, row] = data[row % lanes]
            dut.write__valid.value = 0

    async def array_reads(self, count, addresses, *, stall):
        """Reads of the array, one a cycle, whatever the others do."""
        asked = deque([None] * operand_latency(self.config))
        for _ in range(count + len(asked)):
            reading = self.random.random() >= stall
            address = self.random.choice(addresses)
            self.dut.array__valid.value, self.dut.array__address.value = reading, address
            await self.edge
            before = asked.popleft()
            if before is not None:
                got = int(self.dut.array__data.value).to_bytes(self.config.rows, "little")
                assert got == self.words[before].tobytes(), f"word {before}"
            asked.append(address if reading else None)
        self.dut.array__valid.value = 0


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stall=[0.2, 0.7])
async def three_masters(dut, stall):
    """Array and system port read one half while vector unit and system port write the other."""
    bench = Bench(dut)
    await bench.start()
    rows = bench.config.rows
    for turn in range(4):
        readable = list(range(WORDS // 2)) if turn % 2 else list(range(WORDS // 2, WORDS))
        writable = sorted(set(range(WORDS)) - set(readable))
        # The system port writes the last two words of the writable half, the vector unit the rest.
        tasks = [cocotb.start_soon(bench.vector_writes(60, writable[:-2], stall=stall)),
                 cocotb.start_soon(bench.array_reads(150, readable, stall=stall))]
        for _ in range(12):
            address = bench.random.choice(writable[-2:])
            data, mask = bench.random.randbytes(rows), bench.random.getrandbits(rows)
            await bench.system.write(address * rows, data, mask=mask, stall=stall)
            for row in range(rows):
                if mask >> row & 1:
                    bench.words[address, row] = data[row]
            address = bench.random.choice(readable)
            assert await bench.system.read(address * rows, rows, stall=stall) == (
                bench.words[address].tobytes())
        for task in tasks:
            await task
    assert await bench.system.read(0, bench.words.size) == bench.words.tobytes()


@cocotb.test(timeout_time=50, timeout_unit="us")
async def array_and_vector_unit_come_first(dut):
    """The system port waits exactly while the array reads, or the vector unit writes."""
    bench = Bench(dut)
    await bench.start()
    dut.write__mask.value = 0
    dut.system__read__valid.value = dut.system__write__valid.value = 1
    dut.system__write__mask.value = 0
    for _ in range(100):
        array, vector = (bench.random.getrandbits(1) for _ in range(2))
        dut.array__valid.value, dut.write__valid.value = array, vector
        await bench.edge
        assert dut.system__read__ready.value == (not array)
        assert dut.system__write__ready.value == (not vector)


@pytest.mark.parametrize(("rows", "lanes", "bus_bytes", "port_cycles"), [
    (4, 4, 4, 0), (8, 2, 4, 0), (16, 4, 4, 0), (8, 4, 4, 1)])
def test_activation_memory(rows, lanes, bus_bytes, port_cycles):
    sizes = {"rows": rows, "lanes": lanes, "bus_bytes": bus_bytes, "port_cycles": port_cycles}
    simulate(ActivationMemory(config=make_config(**sizes)), f"act_{rows}_{lanes}_{bus_bytes}",
             __name__, parameters=sizes)


def test_rejects_what_is_no_config():
    with pytest.raises(TypeError, match=r"^config must be a Config, not 4$"):
        ActivationMemory(config=4)
