# amaranth: UnusedElaboratable=no
"""The Wishbone slave in front of the host port: every access ends once, rightly."""
import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from systolith.hw.config import Config, Region
from systolith.hw.host import HostRequest
from systolith.hw.soc.host import WishboneHost
from tests.bench import Stream, parameters, reset, simulate
from tests.hw.soc.bus import Master, Refused

CONFIG = Config(name="wb", rows=4, cols=4, lanes=2, act_depth=64, wgt_depth=16, vec_depth=64,
                const_depth=16, acc_depth=16, row_depth=16, bus_bytes=4)
MESH = CONFIG.replace(name="wb mesh", mesh_width=3)
CONFIGS = {config.cores: config for config in (CONFIG, MESH)}


class Chip:
    """A host port that remembers what is written, and takes its time."""

    def __init__(self, dut, *, stall):
        self.request = Stream(dut, "request", shape=HostRequest())
        self.response = Stream(dut, "response")
        self.words, self.seen, self._stall = {}, [], stall

    async def run(self):
        while True:
            access, = await self.request.receive(1, stall=self._stall)
            self.seen.append((int(access.write), int(access.address)))
            if access.write:
                self.words[int(access.address)] = int(access.data)
            else:
                await self.response.send([self.words.get(int(access.address), 0)],
                                         stall=self._stall)


async def started(dut, *, stall=0.0, **options):
    chip, master = Chip(dut, stall=stall), Master(dut, "bus", stall=stall, **options)
    await reset(dut, chip.request, sources=[chip.response])
    cocotb.start_soon(chip.run())
    return chip, master


def refused(config):
    """Address, data to write or None, and bytes of accesses that must be refused."""
    register, act, acc, queue = (config.host_address(region, 0) for region in (
        Region.REGISTERS, Region.ACT, Region.ACC, Region.QUEUES))
    yield from ((act + config.region_bytes(Region.ACT), data, 15) for data in (None, 5))
    yield from ((register + 0x100, None, 15), (queue + 12, 5, 15))
    yield from ((acc, 5, 15), (queue, None, 15))
    yield from ((act, 5, sel) for sel in (0, 1, 3, 7, 14))
    if config.cores == MESH.cores:
        yield from ((config.host_address(Region.REGISTERS, core=MESH.cores), data, 15)
                    for data in (None, 5))


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stall=[0.0, 0.5], pipelined=[False, True])
async def reads_what_it_wrote(dut, stall, pipelined):
    chip, master = await started(dut, stall=stall, pipelined=pipelined)
    rng, known, done = random.Random(3), {}, []
    for _ in range(300):
        address = CONFIG.host_address(Region.VEC, 4 * rng.randrange(20))
        write = rng.random() < 0.5
        done.append((int(write), address))
        if write:
            known[address] = rng.getrandbits(32)
            await master.access(address, known[address])
        else:
            assert await master.access(address, sel=rng.randrange(16)) == known.get(address, 0)
    assert chip.seen == done


@cocotb.test(timeout_time=100, timeout_unit="us")
async def what_is_refused_does_not_reach_the_chip(dut):
    chip, master = await started(dut)
    for address, data, sel in refused(CONFIGS[parameters()["cores"]]):
        with pytest.raises(Refused):
            await master.access(address, data, sel=sel)
        assert master.cycles == 2
    await master.idle(5)
    assert chip.seen == []


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_write_takes_two_cycles(dut):
    _, master = await started(dut)
    for index in range(10):
        await master.access(4 * index, index)
        assert master.cycles == 2


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stall=[0.0, 0.6])
async def a_master_may_give_up(dut, stall):
    """It never gets the answer of an access that it has given up for a later one."""
    chip, master = await started(dut, stall=stall)
    rng = random.Random(4)
    base = CONFIG.host_address(Region.VEC, 0)
    chip.words.update({base + 4 * index: 1000 + index for index in range(32)})
    for _ in range(200):
        await master.begin(base + 4 * rng.randrange(16))
        if await ended(dut, rng.randrange(12)):
            continue
        await master.idle(1 + rng.randrange(6))
        index = rng.randrange(16, 32)
        assert await master.access(base + 4 * index) == 1000 + index


async def ended(dut, cycles):
    """Wait so many cycles or until the access has ended; whether it has."""
    for _ in range(cycles):
        await ClockCycles(dut.clk, 1)
        if dut.bus__ack.value:
            dut.bus__stb.value = 0
            return True
    return False


@pytest.mark.parametrize("cores", CONFIGS)
def test_wishbone_host(cores):
    simulate(WishboneHost(config=CONFIGS[cores]), f"wishbone_host{cores}", __name__,
             parameters={"cores": cores})


def test_the_window_holds_all_cores():
    width = {cores: len(WishboneHost(config=config).bus.adr) for cores, config in CONFIGS.items()}
    assert width == {1: 23, 3: 25}
