# amaranth: UnusedElaboratable=no
"""The port to external memory by itself: order, atomic writes, flush."""
import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge, gather

from systolith.hw.external import ExternalAccess, ExternalPort
from tests.bench import Stream, reset, simulate

BYTES, OUTSTANDING = 4, 4


def access(address, data=None, last=0):
    return {"address": address, "write": data is not None, "last": last, "data": data or 0}


class Bench:
    """All streams, and what came out of the rest."""

    def __init__(self, dut):
        self.dut = dut
        self.access = Stream(dut, "access", shape=ExternalAccess(bus_bytes=BYTES))
        self.request, self.write = Stream(dut, "request"), Stream(dut, "write")
        self.read = Stream(dut, "read")
        self.answers, self.written = [], 0

    async def start(self):
        self.dut.flush.value = 0
        await reset(self.dut, self.request, self.write, sources=[self.access, self.read])
        cocotb.start_soon(self._watch())

    async def _watch(self):
        while True:
            await RisingEdge(self.dut.clk)
            self.written += int(self.dut.written.value)
            if self.dut.answered.value:
                self.answers.append(int(self.dut.answer.value))

    async def flush(self):
        self.dut.flush.value = 1
        await ClockCycles(self.dut.clk, 1)
        self.dut.flush.value = 0


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(stalls=[(0, 0), (0.7, 0), (0, 0.7), (0.5, 0.5)])
async def both_halves_of_a_write_come_in_order(dut, stalls):
    bench = Bench(dut)
    await bench.start()
    sent = [access(4 * i, 1000 + i, last=i % 5 == 4) for i in range(40)]
    _, requests, beats = await gather(
        bench.access.send(sent), bench.request.receive(40, stall=stalls[0]),
        bench.write.receive(40, stall=stalls[1]))
    await ClockCycles(dut.clk, 2)
    assert requests == [1 << 32 | 4 * i for i in range(40)]
    assert beats == [1000 + i for i in range(40)]
    assert bench.written == 8


@cocotb.test(timeout_time=50, timeout_unit="us")
async def written_waits_for_both_halves(dut):
    bench = Bench(dut)
    await bench.start()
    for first, second in ((bench.request, bench.write), (bench.write, bench.request)):
        before = bench.written
        await bench.access.send([access(0, 5, last=1)])
        await first.receive(1)
        await ClockCycles(dut.clk, 5)
        assert bench.written == before
        await second.receive(1)
        await ClockCycles(dut.clk, 1)
        assert bench.written == before + 1


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_flush_drops_the_answers_that_are_due(dut):
    bench = Bench(dut)
    await bench.start()
    await gather(bench.access.send([access(4 * i) for i in range(3)]), bench.request.receive(3))
    await bench.read.send([70])
    await bench.flush()
    # A new read waits until the two old answers have come.
    sending = cocotb.start_soon(bench.access.send([access(16)]))
    await ClockCycles(dut.clk, 10)
    assert not sending.done()
    await bench.read.send([71, 72])
    assert await bench.request.receive(1) == [16]
    await sending
    await bench.read.send([73])
    await ClockCycles(dut.clk, 2)
    assert bench.answers == [70, 73]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_flush_ends_the_write_that_was_begun(dut):
    bench = Bench(dut)
    await bench.start()
    await bench.access.send([access(8, 9, last=1)])
    await bench.request.receive(1)
    await bench.flush()
    assert await bench.write.receive(1) == [9]
    await ClockCycles(dut.clk, 3)
    assert bench.written == 0


@cocotb.test(timeout_time=50, timeout_unit="us")
async def an_answer_that_nobody_asked_for_is_ignored(dut):
    bench = Bench(dut)
    await bench.start()
    await bench.read.send([1, 2])
    await ClockCycles(dut.clk, 3)
    assert bench.answers == []


def test_external():
    simulate(ExternalPort(bus_bytes=BYTES, outstanding=OUTSTANDING), "external", __name__)


def test_outstanding_reads_are_positive():
    with pytest.raises(ValueError, match=r"^Outstanding reads must be a positive integer, not 0$"):
        ExternalPort(bus_bytes=4, outstanding=0)
