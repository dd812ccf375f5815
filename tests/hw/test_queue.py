# amaranth: UnusedElaboratable=no
"""The queue of either memory against a list, with random stalls on both sides."""
import cocotb
import pytest
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, gather

from systolith.hw.queue import Queue
from tests.bench import Stream, parameters, reset, simulate

DEPTH = 8


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=[(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.6)])
async def keeps_order(dut, stalls):
    i, o = Stream(dut, "i"), Stream(dut, "o")
    await reset(dut, o, sources=[i])
    items = [7 * n % 251 for n in range(200)]
    _, received = await gather(i.send(items, stall=stalls[0]),
                               o.receive(len(items), stall=stalls[1]))
    assert received == items
    await ClockCycles(dut.clk, 2)
    assert dut.space.value == DEPTH
    assert not dut.o__valid.value


@cocotb.test(timeout_time=10, timeout_unit="us")
async def fills_to_its_depth_and_counts_space(dut):
    i, o = Stream(dut, "i"), Stream(dut, "o")
    await reset(dut, o, sources=[i])
    for held in range(DEPTH):
        await RisingEdge(dut.clk)
        assert dut.space.value == DEPTH - held
        assert dut.i__ready.value
        await i.send([held])
    await RisingEdge(dut.clk)
    assert dut.space.value == 0
    assert not dut.i__ready.value
    assert await o.receive(DEPTH) == list(range(DEPTH))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def moves_one_element_a_cycle(dut):
    i, o = Stream(dut, "i"), Stream(dut, "o")
    await reset(dut, o, sources=[i])
    dut.o__ready.value = 1
    dut.i__valid.value = 1
    late = 0 if parameters()["distributed"] else 1
    for cycle in range(20):
        dut.i__payload.value = cycle
        await RisingEdge(dut.clk)
        await ReadOnly()
        # Pushed before this edge, it is there after it, or after the next one from block RAM.
        if cycle >= late:
            assert dut.o__valid.value
            assert dut.o__payload.value == cycle - late
        await cocotb.triggers.NextTimeStep()


@pytest.mark.parametrize("distributed", [False, True])
def test_queue(distributed):
    simulate(Queue(shape=8, depth=DEPTH, distributed=distributed), "queue", __name__,
             parameters={"distributed": distributed})


@pytest.mark.parametrize("depth", [0, 1, 12, "8"])
def test_depth_is_a_power_of_two(depth):
    with pytest.raises(ValueError, match=f"^Queue depth must be a power of two of at least 2, "
                                         f"not {depth!r}$"):
        Queue(shape=8, depth=depth)
