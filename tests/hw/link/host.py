"""A host at bit level in cocotb, and what is behind the link's port."""
import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from systolith.hw.frames import Operation, Status
from systolith.hw.link.link import Link
from systolith.hw.link.port import Access
from systolith.sw.runtime.frames import AnswerFrame, FrameFinder, RequestFrame
from tests.bench import Stream, reset
from tests.hw.link.line import receive_bytes, send_bytes

BIT = 4
SESSION = 0x7E7D5E5D  # all of its bytes are special on the wire
#: Cycles in which the longest request and its answer have certainly passed.
LONG = 2 * 12 * BIT * 600


class Bench:
    """Host and what is behind the port; ``words`` is that memory, by (external, address)."""

    def __init__(self, dut):
        self.dut = dut
        self.request = Stream(dut, "port__request", shape=Access())
        self.response = Stream(dut, "port__response")
        self.words, self.writes, self.resets = {}, [], 0
        self.answers = []
        self.sequence = 0
        self.stalled = False

    async def start(self):
        self.dut.rx.value = 1
        await reset(self.dut, self.request, sources=[self.response])
        for task in (self._serve(), self._listen(), self._count_resets()):
            cocotb.start_soon(task)
        await self.hello()

    async def _serve(self):
        while True:
            access, = await self.request.receive(1, stall=0.3)
            key = (int(access.external), int(access.address))
            if access.write:
                self.words[key] = int(access.data)
                self.writes.append((*key, int(access.data)))
            else:
                await self.response.send([self.words.get(key, 0)], stall=0.3)
            while self.stalled:
                await RisingEdge(self.dut.clk)

    async def _listen(self):
        finder = FrameFinder()
        async for byte in receive_bytes(self.dut, self.dut.tx, bit=BIT):
            self.answers += map(AnswerFrame.decode, finder.feed(bytes([byte])))

    async def _count_resets(self):
        while True:
            await RisingEdge(self.dut.clk)
            self.resets += int(self.dut.reset.value)

    def frame(self, operation, *, sequence=None, **fields):
        """The next request."""
        fields.setdefault("session", SESSION)
        fields.setdefault("words", len(fields.get("data", b"")) // 4)
        if sequence is None:
            sequence, self.sequence = self.sequence, (self.sequence + 1) % 256
        return RequestFrame(operation=operation, sequence=sequence, **fields)

    async def send(self, data, bit=BIT):
        await send_bytes(self.dut.rx, data, bit=bit)

    async def ask(self, frame, cycles=LONG, bit=BIT):
        """The answer to a frame, or None."""
        self.answers.clear()
        await self.send(frame.encode() if isinstance(frame, RequestFrame) else frame, bit)
        for _ in range(cycles // 100):
            if self.answers:
                return self.answers.pop(0)
            await ClockCycles(self.dut.clk, 100)
        return None

    async def hello(self, session=SESSION):
        answer = await self.ask(self.frame(Operation.HELLO, session=session))
        assert answer.status is Status.OK
        return answer

    async def write(self, address, data, **fields):
        answer = await self.ask(self.frame(Operation.WRITE, address=address, data=data, **fields))
        assert (answer.status, answer.data) == (Status.OK, b"")

    async def read(self, address, words, **fields):
        answer = await self.ask(self.frame(Operation.READ, address=address, words=words, **fields))
        assert answer.status is Status.OK
        return answer.data

    async def check_usable(self):
        """A write and a read work."""
        data = random.Random(self.sequence).randbytes(12)
        await self.write(0x40, data)
        assert await self.read(0x40, 3) == data


async def started(dut):
    bench = Bench(dut)
    await bench.start()
    return bench


def link():
    """The link with the line's rate, with external memory of 64 KiB in beats of two words."""
    return Link(clock_hz=BIT * 1e6, baud=1e6, ext_bytes=1 << 16, bus_bytes=8)
