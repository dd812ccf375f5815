"""The system bus with random masters and memories that make them wait."""
import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge, gather

from systolith.hw.bus import MASTERS, MESH_MASTERS, Bus
from systolith.hw.config import MEMORIES, SYSTEM_READ_LATENCY, Region
from tests.bench import parameters, reset, simulate

BYTES = 4
NAMES = parameters().get("masters", MASTERS)
MESH = len(NAMES) == len(MESH_MASTERS)
#: What stays of a request of each way.
REQUEST = {"read": ("address",), "write": ("address", "mask", "data")}


class Memory:
    """Answers one system port and checks that requests stay until they are accepted."""

    def __init__(self, dut, region, *, stall):
        self._dut, self._name, self._stall = dut, region.name.lower(), stall
        self._random = random.Random(region.name)
        self.words = {}
        for way in REQUEST:
            self._signal(way, "ready").value = 0
        self._signal("read", "data").value = 0

    def _signal(self, way, name):
        return self._dut[f"{self._name}__{way}__{name}"]

    async def run(self):
        answers, offered = deque([None] * (SYSTEM_READ_LATENCY - 1)), dict.fromkeys(REQUEST)
        while True:
            ready = {way: self._random.random() >= self._stall for way in REQUEST}
            for way in REQUEST:
                self._signal(way, "ready").value = ready[way]
            await RisingEdge(self._dut.clk)
            accepted = {}
            for way, names in REQUEST.items():
                request = (tuple(int(self._signal(way, name).value) for name in names)
                           if self._signal(way, "valid").value else None)
                assert offered[way] in (None, request), (
                    f"{self._name}: {offered[way]} became {request}")
                accepted[way] = request if ready[way] else None
                offered[way] = None if ready[way] else request
            answers.append(self._serve(**accepted))
            answer = answers.popleft()
            self._signal("read", "data").value = 0xDEAD if answer is None else answer

    def _serve(self, read, write):
        """The answer to a read. Nobody reads what is written in the same cycle."""
        if write:
            address, mask, data = write
            assert mask == 15
            assert read != (address,)
            self.words[address] = data
        return self.words.get(*read, 0) if read else None


class Master:
    """Drives one master; the answers come in order."""

    def __init__(self, dut, name):
        self._dut, self._name, self.answers = dut, name, []
        for signal in ("valid", "region", "write", "address", "mask", "data"):
            dut[f"{name}__{signal}"].value = 0
        self._random = random.Random(name)

    async def watch(self):
        while True:
            await RisingEdge(self._dut.clk)
            if self._dut[f"{self._name}__answer"].value:
                self.answers.append(int(self._dut[f"{self._name}__read_data"].value))

    async def request(self, region, address, data=None, *, stall=0.0):
        while self._random.random() < stall:
            await RisingEdge(self._dut.clk)
        values = {"valid": 1, "region": int(region), "write": data is not None,
                  "address": address, "mask": 15, "data": data or 0}
        for name, value in values.items():
            self._dut[f"{self._name}__{name}"].value = value
        cycles = 0
        while True:
            await RisingEdge(self._dut.clk)
            cycles += 1
            if self._dut[f"{self._name}__ready"].value:
                break
        self._dut[f"{self._name}__valid"].value = 0
        return cycles


async def start(dut, *, stall):
    memories = [Memory(dut, region, stall=stall) for region in MEMORIES]
    masters = [Master(dut, name) for name in NAMES]
    await reset(dut)
    for part in memories:
        cocotb.start_soon(part.run())
    for part in masters:
        cocotb.start_soon(part.watch())
    return masters


@cocotb.test(timeout_time=500, timeout_unit="us")
@cocotb.parametrize(stall=[0, 0.5], busy=[0, 0.6])
async def each_master_reads_what_it_wrote(dut, stall, busy):
    async def use(master, base, seed):
        rng, known, expected = random.Random(seed), {}, []
        for _ in range(300):
            region, address = rng.choice(MEMORIES), base + 4 * rng.randrange(16)
            if (region, address) in known and rng.random() < 0.5:
                expected.append(known[region, address])
                await master.request(region, address, stall=busy)
            else:
                known[region, address] = rng.getrandbits(32)
                await master.request(region, address, known[region, address], stall=busy)
        await ClockCycles(dut.clk, 4)
        assert master.answers == expected
        assert len(expected) > 50

    masters = await start(dut, stall=stall)
    await gather(*(use(master, 1024 * n, n) for n, master in enumerate(masters)))


@cocotb.test(timeout_time=50, timeout_unit="us", skip=MESH)
async def the_host_goes_first_and_gets_the_bus_a_cycle_later(dut):
    host, mover = await start(dut, stall=0)

    async def move():
        return [await mover.request(Region.VEC, 4 * i, i) for i in range(10)]
    moving = cocotb.start_soon(move())
    await ClockCycles(dut.clk, 3)
    assert [await host.request(Region.VEC, 256 + 4 * i, i) for i in range(4)] == [2, 1, 1, 1]
    cycles = await moving
    # One write waited while the host used four cycles, and one until the bus was back.
    assert sorted(cycles) == [1] * 9 + [6]


@cocotb.test(timeout_time=50, timeout_unit="us", skip=not MESH)
async def three_are_served_in_turn(dut):
    masters = await start(dut, stall=0)

    async def write(master, base):
        return [await master.request(Region.VEC, base + 4 * i, i) for i in range(20)]

    cycles = await gather(*(write(master, 256 * n) for n, master in enumerate(masters)))
    for each in cycles:
        assert each[1:-1] == [3] * 18
    # One alone takes a cycle for each.
    assert await write(masters[1], 1024) == [1] * 20


@cocotb.test(timeout_time=50, timeout_unit="us", skip=not MESH)
async def one_reads_while_another_writes(dut):
    _, remote, mover = await start(dut, stall=0)

    async def run(master, base, data):
        return [await master.request(Region.ACT, base + 4 * i, data) for i in range(20)]

    assert list(await gather(run(mover, 0, None), run(remote, 256, 7))) == [[1] * 20] * 2


@cocotb.test(timeout_time=50, timeout_unit="us", skip=not MESH)
async def who_takes_its_request_back_holds_nobody_up(dut):
    """As a mover that halts does."""
    _, remote, mover = (Master(dut, name) for name in NAMES)
    for region in MEMORIES:
        dut[f"{region.name.lower()}__write__ready"].value = region != Region.ACT
    await reset(dut)
    taken_back = cocotb.start_soon(mover.request(Region.ACT, 0, 1))
    await RisingEdge(dut.clk)
    writing = cocotb.start_soon(remote.request(Region.VEC, 256, 7))
    await ClockCycles(dut.clk, 4)
    assert not writing.done()
    taken_back.cancel()
    dut.mover__valid.value = 0
    await ClockCycles(dut.clk, 3)
    assert writing.done()


@pytest.mark.parametrize("masters", [MASTERS, MESH_MASTERS])
def test_bus(masters):
    simulate(Bus(bus_bytes=BYTES, masters=masters), f"bus{len(masters)}", __name__,
             parameters={"masters": masters})
