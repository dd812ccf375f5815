# amaranth: UnusedElaboratable=no
"""Block RAM as external memory: what is written is read, an access a cycle."""
import re

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from systolith.hw.external_ram import ExternalRam
from tests.bench import parameters, reset, simulate
from tests.hw.external_user import User

SIZE = 256


async def started(dut, **options):
    user = User(dut, "user", bus_bytes=parameters()["bus_bytes"], **options)
    await reset(dut, *user.sinks, sources=user.sources)
    return user


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stall=[0.0, 0.6])
async def what_is_written_is_read(dut, stall):
    user = await started(dut, stall=stall)
    await user.run(400)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_access_a_cycle(dut):
    user = await started(dut)
    requests = [{"address": 4 * i % SIZE, "write": 0} for i in range(200)]
    receiver = cocotb.start_soon(user.read.receive(len(requests)))
    start = cocotb.utils.get_sim_time("ns")
    await user.request.send(requests)
    await receiver
    assert cocotb.utils.get_sim_time("ns") - start <= 10 * (len(requests) + 3)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_write_waits_for_its_beat_and_a_beat_for_its_write(dut):
    user = await started(dut)
    dut.user__write__valid.value = 1
    await ClockCycles(dut.clk, 5)
    assert not dut.user__write__ready.value
    dut.user__write__valid.value = 0
    cocotb.start_soon(user.request.send([{"address": 0, "write": 1}]))
    for _ in range(5):
        await RisingEdge(dut.clk)
        assert not dut.user__request__ready.value
    await user.write.send([7])
    cocotb.start_soon(user.request.send([{"address": SIZE, "write": 0}]))
    assert await user.read.receive(1) == [7], "addresses beyond the end start again at 0"


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_user_that_is_reset_gets_no_old_beat(dut):
    user = await started(dut)
    await user.request.send([{"address": 0, "write": 0}])
    await RisingEdge(dut.clk)
    assert dut.user__read__valid.value
    dut.forget.value = 1
    await RisingEdge(dut.clk)
    dut.forget.value = 0
    await ClockCycles(dut.clk, 3)
    assert not dut.user__read__valid.value


@pytest.mark.parametrize("bus_bytes", [4, 16])
def test_external_ram(bus_bytes):
    simulate(ExternalRam(bus_bytes=bus_bytes, size=SIZE), f"external_ram_{bus_bytes}", __name__,
             parameters={"bus_bytes": bus_bytes})


@pytest.mark.parametrize("size", [0, 4, 12, 100, -8, 8.0])
def test_rejects(size):
    message = re.escape(f"size must be a power of two of at least 8 bytes, not {size!r}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        ExternalRam(bus_bytes=4, size=size)
