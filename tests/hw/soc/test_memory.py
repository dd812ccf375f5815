# amaranth: UnusedElaboratable=no
"""The Wishbone master for external memory: what is written is read, and errors are told."""
import cocotb
import pytest
from cocotb.triggers import ClockCycles

from systolith.hw.soc.memory import WishboneMemory
from tests.bench import parameters, reset, simulate
from tests.hw.external_user import User
from tests.hw.soc.bus import Memory

SIZE, BASE = 256, 0x4000_0000


async def started(dut, *, stall=0.0):
    width = parameters()["bus_bytes"]
    memory = Memory(dut, "bus", bytearray(SIZE), width=width, base=BASE, stall=stall)
    user = User(dut, "user", bus_bytes=width, beats=SIZE // width, stall=stall)
    dut.base.value = BASE
    await reset(dut, *user.sinks, sources=user.sources)
    cocotb.start_soon(memory.run())
    return memory, user, width


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stall=[0.0, 0.6])
async def what_is_written_is_read(dut, stall):
    memory, user, width = await started(dut, stall=stall)
    known = await user.run(400)
    await ClockCycles(dut.clk, 10)
    assert memory.accesses == 400
    assert not dut.error.value
    for place, beat in known.items():
        assert int.from_bytes(memory.content[place:place + width], "little") == beat


@cocotb.test(timeout_time=100, timeout_unit="us")
async def beats_take_no_longer_than_the_memory(dut):
    _, user, _ = await started(dut)
    count = 50
    reading = cocotb.start_soon(user.read.receive(count))
    asking = cocotb.start_soon(user.request.send([{"address": 0, "write": 0}] * count))
    await ClockCycles(dut.clk, 2 * count + 2)  # the memory takes two
    assert asking.done()
    assert reading.done()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_refused_beat_is_told_for_ever(dut):
    memory, user, _ = await started(dut)
    memory.refuses = True
    await user.request.send([{"address": 0, "write": 0}])
    await user.read.receive(1)
    memory.refuses = False
    assert dut.error.value
    await user.run(20)
    assert dut.error.value


@pytest.mark.parametrize("bus_bytes", [4, 16])
def test_wishbone_memory(bus_bytes):
    simulate(WishboneMemory(bus_bytes=bus_bytes), f"wishbone_memory_{bus_bytes}", __name__,
             parameters={"bus_bytes": bus_bytes})
