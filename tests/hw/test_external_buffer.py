# amaranth: UnusedElaboratable=no
"""Registers on the way to external memory: its user reads what it wrote, whoever stalls."""
import cocotb
from cocotb.triggers import ClockCycles

from systolith.hw.external_buffer import ExternalBuffer
from tests.bench import reset, simulate
from tests.hw.external_user import User
from tests.hw.test_external_share import Memory

BUS_BYTES = 4


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=[(0, 0), (0.6, 0), (0, 0.6), (0.5, 0.5)])
async def reads_what_it_wrote(dut, stalls):
    user = User(dut, "user", bus_bytes=BUS_BYTES, stall=stalls[0])
    memory = Memory(dut, stalls[1])
    await reset(dut, memory.request, memory.write, *user.sinks,
                sources=[memory.read, *user.sources])
    memory.start()
    written = await user.run(300)
    # Writes that were accepted may be on their way.
    await ClockCycles(dut.clk, 50)
    assert memory.words == written


def test_external_buffer():
    simulate(ExternalBuffer(bus_bytes=BUS_BYTES), "external_buffer", __name__)
