# amaranth: UnusedElaboratable=no
"""The short queue against a list, with random stalls on both sides."""
import cocotb
import pytest
from cocotb.triggers import NextTimeStep, ReadOnly, RisingEdge, gather

from systolith.hw.mesh.short_queue import ShortQueue
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
    await RisingEdge(dut.clk)
    assert not dut.o__valid.value


@cocotb.test(timeout_time=10, timeout_unit="us")
async def holds_as_many_as_its_depth(dut):
    i, o = Stream(dut, "i"), Stream(dut, "o")
    await reset(dut, o, sources=[i])
    await i.send(range(parameters()["depth"]))
    await RisingEdge(dut.clk)
    assert not dut.i__ready.value
    assert await o.receive(parameters()["depth"]) == [*range(parameters()["depth"])]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def moves_one_element_a_cycle_after_one_cycle(dut):
    i, o = Stream(dut, "i"), Stream(dut, "o")
    await reset(dut, o, sources=[i])
    dut.o__ready.value = dut.i__valid.value = 1
    for cycle in range(20):
        dut.i__payload.value = cycle
        await RisingEdge(dut.clk)
        await ReadOnly()
        assert dut.o__valid.value
        assert dut.o__payload.value == cycle
        await NextTimeStep()


@pytest.mark.parametrize("depth", [2, 8])
def test_short_queue(depth):
    simulate(ShortQueue(shape=8, depth=depth), "short_queue", __name__,
             parameters={"depth": depth})


@pytest.mark.parametrize("depth", [0, 1, 12, "8"])
def test_depth_is_a_power_of_two(depth):
    with pytest.raises(ValueError, match=f"^ShortQueue depth must be a power of two of at least 2, "
                                         f"not {depth!r}$"):
        ShortQueue(shape=8, depth=depth)
