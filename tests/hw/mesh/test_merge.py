# amaranth: UnusedElaboratable=no
"""The merge passes every element on once, in the order of its stream, and nobody waits long."""
import cocotb
import pytest
from cocotb.triggers import gather

from systolith.hw.mesh.merge import Merge
from tests.bench import Stream, parameters, reset, simulate

ELEMENTS = 60


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=[(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.6)])
async def passes_all_in_turns(dut, stalls):
    count = parameters()["count"]
    o, sources = Stream(dut, "o"), [Stream(dut, f"i__{index}") for index in range(count)]
    await reset(dut, o, sources=sources)
    items = [[index << 6 | number for number in range(ELEMENTS)] for index in range(count)]
    *_, received = await gather(
        *(source.send(each, stall=stalls[0])
          for source, each in zip(sources, items, strict=True)),
        o.receive(count * ELEMENTS, stall=stalls[1]))
    assert [[each for each in received if each >> 6 == index] for index in range(count)] == items
    if stalls[0] == 0:
        # All always have something to send.
        assert [each >> 6 for each in received] == [*range(count)] * ELEMENTS


@pytest.mark.parametrize("count", [1, 2, 5])
def test_merge(count):
    simulate(Merge(width=10, count=count), "merge", __name__, parameters={"count": count})


def test_a_merge_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"^Merge needs a number of streams of at least 1, not 0$"):
        Merge(width=8, count=0)
