"""A stand-in for the chip: the same ports, a few registers, three queues that only count.

Each queue drops one word every ``DRAIN`` cycles while the run bit is set. A word written to COPY
makes the chip read one beat of external memory at that address and write its complement to the
next beat.
"""
from amaranth import *
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

SCRATCH, CONTROL, STATUS, SPACE, COPY, SUMS = 0x00, 0x08, 0x0C, 0x10, 0x14, 0x20
WINDOWS = (0x100, 0x104, 0x108)
DEPTH, DRAIN = 32, 3
IDLE, ERROR = 1, 2
#: A word that stops the stand-in with an error when a queue drops it.
POISON = 0xDEAD


class StandIn(wiring.Component):
    """Ports of the chip with ``bus_bytes`` a beat."""

    def __init__(self, *, bus_bytes):
        beat = unsigned(8 * bus_bytes)
        self.bus_bytes = bus_bytes
        super().__init__({
            "host_request": In(stream.Signature(data.StructLayout(
                {"write": 1, "address": 31, "data": 32}))),
            "host_response": Out(stream.Signature(32)),
            "ext_request": Out(stream.Signature(data.StructLayout({"address": 32, "write": 1}))),
            "ext_write": Out(stream.Signature(beat)),
            "ext_read": In(stream.Signature(beat)),
        })

    def elaborate(self, platform):
        m = Module()
        request = self.host_request.p
        self.accepted = Signal()
        self.write = Signal()
        m.d.comb += [
            # An answer that waits holds the next request back.
            self.host_request.ready.eq(~self.host_response.valid | self.host_response.ready),
            self.accepted.eq(self.host_request.valid & self.host_request.ready),
            self.write.eq(self.accepted & request.write),
        ]
        status = self._queues(m, request)
        self._copier(m, request)
        self._registers(m, request, status)
        return m

    def _queues(self, m, request):
        run, error, timer = Signal(), Signal(), Signal(range(DRAIN))
        self.space, self.sums = Signal(30), Array(Signal(32, name=f"sum{i}") for i in range(3))
        m.d.sync += timer.eq(Mux(timer == DRAIN - 1, 0, timer + 1))
        with m.If(self.write & (request.address == CONTROL)):
            m.d.sync += run.eq(request.data[0])
        empty = []
        for i in range(3):
            m.submodules[f"queue{i}"] = queue = fifo.SyncFIFOBuffered(width=32, depth=DEPTH)
            drop = queue.r_rdy & run & ~error & (timer == i)
            m.d.comb += [
                queue.w_en.eq(self.write & (request.address == WINDOWS[i])),
                queue.w_data.eq(request.data), queue.r_en.eq(drop),
                self.space[10 * i:10 * i + 10].eq(DEPTH - queue.level)]
            with m.If(drop):
                m.d.sync += [self.sums[i].eq(self.sums[i] + queue.r_data)]
                with m.If(queue.r_data == POISON):
                    m.d.sync += error.eq(1)
            with m.If(queue.w_en & ~queue.w_rdy):
                m.d.sync += error.eq(1)
            empty.append(queue.level == 0)
        return Cat(Cat(empty).all(), error)

    def _copier(self, m, request):
        address, beat = Signal(32), Signal(8 * self.bus_bytes)
        out = self.ext_request
        with m.FSM():
            with m.State("IDLE"), m.If(self.write & (request.address == COPY)):
                m.d.sync += address.eq(request.data)
                m.next = "REQUEST"
            with m.State("REQUEST"):
                m.d.comb += [out.valid.eq(1), out.p.address.eq(address)]
                with m.If(out.ready):
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.ext_read.ready.eq(1)
                with m.If(self.ext_read.valid):
                    m.d.sync += beat.eq(~self.ext_read.payload)
                    m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += [out.valid.eq(1), out.p.write.eq(1),
                             out.p.address.eq(address + self.bus_bytes)]
                with m.If(out.ready):
                    m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += [self.ext_write.valid.eq(1), self.ext_write.payload.eq(beat)]
                with m.If(self.ext_write.ready):
                    m.next = "IDLE"

    def _registers(self, m, request, status):
        scratch = Signal(32)
        with m.If(self.write & (request.address == SCRATCH)):
            m.d.sync += scratch.eq(request.data)
        with m.If(self.host_response.ready):
            m.d.sync += self.host_response.valid.eq(0)
        with m.If(self.accepted & ~request.write):
            m.d.sync += self.host_response.valid.eq(1)
            with m.Switch(request.address):
                for address, value in [(SCRATCH, scratch), (STATUS, status), (SPACE, self.space),
                                       *((SUMS + 4 * i, self.sums[i]) for i in range(3))]:
                    with m.Case(address):
                        m.d.sync += self.host_response.payload.eq(value)
                with m.Default():
                    m.d.sync += self.host_response.payload.eq(0xBAD00BAD)
