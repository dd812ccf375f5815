# amaranth: UnusedElaboratable=no
"""Several users of one memory: each reads what it wrote, in turn, and no cycle is lost."""
import cocotb
import pytest
from cocotb.triggers import gather

from systolith.hw.external_merge import ExternalMerge
from tests.bench import parameters, reset, simulate
from tests.hw.external_user import User
from tests.hw.test_external_share import Memory

BUS_BYTES = 4
BASE = 0x1000


async def started(dut, *, memory=0.0, users=0.0):
    count = parameters()["count"]
    cores = [User(dut, f"users__{n}", bus_bytes=BUS_BYTES, base=n * BASE, stall=users)
             for n in range(count)]
    far = Memory(dut, memory)
    await reset(dut, far.request, far.write, *(sink for core in cores for sink in core.sinks),
                sources=[far.read, *(source for core in cores for source in core.sources)])
    far.start()
    return far, cores


@cocotb.test(timeout_time=900, timeout_unit="us")
@cocotb.parametrize(memory=[0, 0.5, 0.9], users=[0, 0.5, 0.9])
async def each_reads_what_it_wrote(dut, memory, users):
    far, cores = await started(dut, memory=memory, users=users)
    written = await gather(*(core.run(150) for core in cores))
    assert far.words == {address: beat for each in written for address, beat in each.items()}


@cocotb.test(timeout_time=100, timeout_unit="us")
async def all_are_served_in_turn(dut):
    far, cores = await started(dut)
    await gather(*(core.run(100) for core in cores))
    owners = [address // BASE for address in far.requests]
    for first in range(50, 150, 10):
        turn = owners[first:first + 4 * len(cores)]
        assert all(turn.count(core) >= 3 for core in range(len(cores)))


@pytest.mark.parametrize(("count", "reads"), [(2, 4), (5, 64)])
def test_external_merge(count, reads):
    simulate(ExternalMerge(bus_bytes=BUS_BYTES, count=count, reads=reads),
             f"external_merge{count}", __name__, parameters={"count": count})
