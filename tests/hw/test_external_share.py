# amaranth: UnusedElaboratable=no
"""Two users of one memory: each reads what it wrote, and neither waits for ever."""
import random

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import ClockCycles, gather

from systolith.hw.external import ExternalRequest
from systolith.hw.external_share import DUE, ExternalShare
from tests.bench import Stream, reset, simulate
from tests.hw.external_user import User

BUS_BYTES = 4


class Memory:
    """The far side: takes requests and beats each at its own pace, and answers in order."""

    def __init__(self, dut, stall):
        self.request = Stream(dut, "memory__request", shape=ExternalRequest())
        self.write, self.read = Stream(dut, "memory__write"), Stream(dut, "memory__read")
        self.words, self.requests = {}, []
        self._stall = stall
        self._beats, self._answers = Queue(), Queue()

    def start(self):
        self.take()
        self.answer()

    def take(self):
        for task in (self._take_requests(), self._take_beats()):
            cocotb.start_soon(task)

    def answer(self):
        cocotb.start_soon(self._answer())

    async def _take_requests(self):
        while True:
            request, = await self.request.receive(1, stall=self._stall)
            address = int(request.address)
            self.requests.append(address)
            if request.write:
                self.words[address] = await self._beats.get()
            else:
                await self._answers.put(self.words[address])

    async def _take_beats(self):
        while True:
            beat, = await self.write.receive(1, stall=self._stall)
            await self._beats.put(beat)

    async def _answer(self):
        while True:
            await self.read.send([await self._answers.get()], stall=self._stall)


async def started(dut, *, memory=0.0, chip=0.0, link=0.0, answers=True):
    users = (User(dut, "chip", bus_bytes=BUS_BYTES, base=0, stall=chip),
             User(dut, "link", bus_bytes=BUS_BYTES, base=0x1000, stall=link))
    far = Memory(dut, memory)
    await reset(dut, far.request, far.write, *(sink for user in users for sink in user.sinks),
                sources=[far.read, *(source for user in users for source in user.sources)])
    far.take()
    if answers:
        far.answer()
    return far, *users


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(stalls=[(0, 0, 0), (0.5, 0, 0), (0, 0.9, 0), (0, 0, 0.9), (0.5, 0.5, 0.5),
                            (0.8, 0, 0.9)])
async def each_reads_what_it_wrote(dut, stalls):
    memory, chip, link = await started(dut, **dict(zip(("memory", "chip", "link"), stalls,
                                                       strict=True)))
    written, other = await gather(chip.run(300), link.run(300))
    assert memory.words == written | other


@cocotb.test(timeout_time=200, timeout_unit="us")
async def the_one_that_comes_gets_its_turn(dut):
    """The chip never pauses; the link's few accesses are done in the middle of it."""
    memory, chip, link = await started(dut)
    busy = cocotb.start_soon(chip.run(600))
    await ClockCycles(dut.clk, random.Random(1).randrange(50, 100))
    await link.run(20)
    assert not busy.done()
    await busy
    owners = [address >= 0x1000 for address in memory.requests]
    first = owners.index(True)
    assert owners[first:first + 60].count(True) == 20


@cocotb.test(timeout_time=100, timeout_unit="us")
async def nobody_loses_time_while_the_other_is_silent(dut):
    _, chip, _ = await started(dut)
    start = cocotb.utils.get_sim_time("ns")
    await chip.run(300)
    assert cocotb.utils.get_sim_time("ns") - start < 10 * 2.2 * 300


@cocotb.test(timeout_time=100, timeout_unit="us")
async def reads_under_way_are_no_more_than_can_be_counted(dut):
    memory, chip, _ = await started(dut, answers=False)
    beats = {4 * word: word for word in range(2 * DUE)}
    memory.words |= beats
    cocotb.start_soon(chip.request.send([{"address": address, "write": 0} for address in beats]))
    await ClockCycles(dut.clk, 4 * DUE)
    assert len(memory.requests) == DUE - 1
    memory.answer()
    assert await chip.read.receive(len(beats)) == [*beats.values()]


def test_external_share():
    simulate(ExternalShare(bus_bytes=BUS_BYTES), "external_share", __name__)
