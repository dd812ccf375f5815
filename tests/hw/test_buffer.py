# amaranth: UnusedElaboratable=no
"""The registers in the way of a stream: nothing is lost or doubled, at one element a cycle."""
import cocotb
import pytest
from cocotb.triggers import ReadOnly, RisingEdge, gather

from systolith.hw.buffer import Buffer
from tests.bench import Stream, parameters, reset, simulate


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=[(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.6)])
async def keeps_order(dut, stalls):
    i, o = Stream(dut, "i"), Stream(dut, "o")
    await reset(dut, o, sources=[i])
    items = [7 * n % 251 for n in range(200)]
    _, received = await gather(i.send(items, stall=stalls[0]),
                               o.receive(len(items), stall=stalls[1]))
    assert received == items


@cocotb.test(timeout_time=10, timeout_unit="us")
async def passes_one_a_cycle_a_cycle_later(dut):
    i, o = Stream(dut, "i"), Stream(dut, "o")
    await reset(dut, o, sources=[i])
    dut.o__ready.value = dut.i__valid.value = 1
    for cycle in range(20):
        dut.i__payload.value = cycle
        await RisingEdge(dut.clk)
        await ReadOnly()
        assert dut.o__valid.value
        assert dut.o__payload.value == cycle
        await cocotb.triggers.NextTimeStep()


@cocotb.test(timeout_time=10, timeout_unit="us")
async def takes_as_many_as_it_holds(dut):
    depth = parameters()["depth"]
    i, o = Stream(dut, "i"), Stream(dut, "o")
    await reset(dut, o, sources=[i])
    await i.send(list(range(depth)))
    await RisingEdge(dut.clk)
    assert not dut.i__ready.value
    assert await o.receive(depth) == list(range(depth))


@pytest.mark.parametrize("depth", [1, 2])
def test_buffer(depth):
    simulate(Buffer(shape=8, depth=depth), f"buffer{depth}", __name__,
             parameters={"depth": depth})


@pytest.mark.parametrize("depth", [0, 3, "1"])
def test_depth_is_one_or_two(depth):
    with pytest.raises(ValueError, match=f"^Buffer depth must be 1 or 2, not {depth!r}$"):
        Buffer(shape=8, depth=depth)
