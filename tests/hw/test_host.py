# amaranth: UnusedElaboratable=no
"""The host port: every region, bad addresses, order and throughput."""
import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge, gather

from systolith.hw.config import MEMORIES, Config, Region
from systolith.hw.host import HostPort
from tests.bench import Stream, parameters, reset, simulate
from tests.hw.models import BusMemory

CONFIGS = {
    4: Config(name="h4", rows=4, cols=4, lanes=2, act_depth=64, wgt_depth=16, vec_depth=64,
              const_depth=16, acc_depth=16, row_depth=16, bus_bytes=4),
    16: Config(name="h16", rows=16, cols=16, lanes=8, act_depth=16, wgt_depth=16, vec_depth=16,
               const_depth=16, acc_depth=16, row_depth=16, bus_bytes=16),
}


def address(config, region, offset, core=0):
    return config.host_address(region, offset, core=core)


def write(where, data):
    return data << 32 | where << 1 | 1


def read(where):
    return where << 1


class Bench:
    """The device under test with registers that hold what is written, queues and memories."""

    def __init__(self, dut, *, stall=0.0):
        self.dut, self.config = dut, CONFIGS[parameters()["bus_bytes"]]
        self.request, self.response = Stream(dut, "request"), Stream(dut, "response")
        content = {int(region): bytearray(self.config.region_bytes(region)) for region in MEMORIES}
        self.memory = BusMemory(dut, "bus", content, bus_bytes=self.config.bus_bytes, stall=stall)
        self.registers, self.pushed, self.overruns, self.faults = {}, [], [], 0

    async def start(self):
        dut = self.dut
        dut.hold.value = dut.full.value = dut.registers__read_data.value = 0
        await reset(dut, self.response, sources=[self.request])
        for coroutine in (self.memory.run(), self._watch(), self._read_registers()):
            cocotb.start_soon(coroutine)

    async def _read_registers(self):
        while True:
            place = int(self.dut.registers__address.value)
            self.dut.registers__read_data.value = self.registers.get(place, 0)
            await cocotb.triggers.ValueChange(self.dut.registers__address)

    async def _watch(self):
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.registers__write.value:
                self.registers[int(dut.registers__address.value)] = int(dut.registers__data.value)
            for record, signal in ((self.pushed, dut.push), (self.overruns, dut.overrun)):
                if int(signal.value):
                    record.append((int(signal.value), int(dut.word.value)))
            self.faults += int(dut.fault.value)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stall=[0, 0.4])
async def reads_what_it_wrote(dut, stall):
    bench, rng = Bench(dut, stall=stall), random.Random(2)
    await bench.start()
    known, requests, expected = {}, [], []
    for _ in range(400):
        region = rng.choice([Region.REGISTERS, *MEMORIES])
        limit = 0x100 if region == Region.REGISTERS else bench.config.region_bytes(region)
        where = address(bench.config, region, 4 * rng.randrange(limit // 4))
        if where in known or region == Region.ACC or rng.random() < 0.3:
            requests.append(read(where))
            expected.append(known.get(where, 0))
        else:
            known[where] = rng.getrandbits(32)
            requests.append(write(where, known[where]))
    _, answers = await gather(bench.request.send(requests, stall=stall),
                              bench.response.receive(len(expected), stall=stall))
    assert answers == expected
    assert bench.faults == 0


@cocotb.test(timeout_time=50, timeout_unit="us")
async def pushes_into_queues_and_tells_overruns(dut):
    bench = Bench(dut)
    await bench.start()
    words = [write(address(bench.config, Region.QUEUES, 4 * engine), 100 + engine)
             for engine in range(3)]
    await bench.request.send(words)
    await ClockCycles(dut.clk, 3)
    assert bench.pushed == [(1, 100), (2, 101), (4, 102)]
    dut.full.value = 2
    await bench.request.send(words)
    await ClockCycles(dut.clk, 3)
    assert bench.pushed[3:] == [(1, 100), (4, 102)]
    assert bench.overruns == [(2, 101)]
    assert bench.faults == 0


@cocotb.test(timeout_time=100, timeout_unit="us")
async def bad_addresses_fault_and_do_nothing_else(dut):
    bench = Bench(dut)
    await bench.start()
    config = bench.config
    ends = [address(config, region, config.region_bytes(region)) for region in MEMORIES]
    bad = [*ends, address(config, Region.REGISTERS, 0x100), address(config, Region.QUEUES, 12),
           address(config, Region.ACT, 0, core=1), address(config, Region.ACT, 2)]
    requests = [request for where in bad for request in (write(where, 7), read(where))]
    requests += [write(address(config, Region.ACC, 0), 7), read(address(config, Region.QUEUES, 0))]
    _, answers = await gather(bench.request.send(requests),
                              bench.response.receive(len(bad) + 1))
    await ClockCycles(dut.clk, 3)
    assert answers == [0] * (len(bad) + 1)
    assert bench.faults == len(requests)
    assert not (bench.pushed)
    assert not (bench.overruns)
    assert not (bench.registers)
    assert not (bench.memory.accesses)


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(region=[Region.REGISTERS, Region.QUEUES, Region.VEC])
async def writes_once_a_cycle(dut, region):
    bench = Bench(dut)
    await bench.start()
    dut.request__valid.value = 1
    for i in range(30):
        offset = 4 * (i % 3)
        dut.request__payload.value = write(address(bench.config, region, offset), i)
        await RisingEdge(dut.clk)
        assert dut.request__ready.value
    dut.request__valid.value = 0


@cocotb.test(timeout_time=50, timeout_unit="us")
async def hold_holds(dut):
    bench = Bench(dut)
    await bench.start()
    dut.hold.value = 1
    await bench.request.send([write(address(bench.config, Region.REGISTERS, 8), 5)])
    await ClockCycles(dut.clk, 10)
    assert bench.registers == {}
    dut.hold.value = 0
    await ClockCycles(dut.clk, 2)
    assert bench.registers == {8: 5}


@pytest.mark.parametrize("bus_bytes", CONFIGS)
def test_host(bus_bytes):
    simulate(HostPort(config=CONFIGS[bus_bytes]), f"host{bus_bytes}", __name__,
             parameters={"bus_bytes": bus_bytes})
