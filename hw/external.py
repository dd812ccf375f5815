"""The chip's port to external memory."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class ExternalRequest(data.StructLayout):
    """What goes over the request stream: byte address, and whether a beat is to be written."""

    def __init__(self):
        super().__init__({"address": 32, "write": 1})


class ExternalAccess(data.StructLayout):
    """One beat to read or write. ``last``: tell when this write is done."""

    def __init__(self, *, bus_bytes):
        super().__init__({"address": 32, "write": 1, "last": 1, "data": 8 * bus_bytes})


class ExternalPort(wiring.Component):
    """Hands accesses to external memory, one a cycle, one cycle of latency.

    This block is *not* reset with its core: a read request needs its answer and a write request its
    beat, or the memory would take those of the next command for them. ``flush`` makes it
    forget, properly: beats already owed are written, answers still due are dropped.

    Parameters
    ----------
    bus_bytes : int
        Bytes of a beat.
    outstanding : int
        Reads that may be unanswered. The user keeps to it by leaving room for the answers.

    Members
    -------
    access : In(stream of ExternalAccess)
        Beats to read and write. Waits while a flush is going on.
    answer : Out(8 * bus_bytes), answered : Out(1)
        Beats read, in order. There is no back-pressure: the user has kept room for them.
    written : Out(1)
        A write with ``last`` was accepted by the memory, request and beat.
    flush : In(1)
        Forget everything.
    request, write : Out(stream), read : In(stream)
        To external memory.

    Raises
    ------
    ValueError
        When ``outstanding`` is not positive.
    """

    def __init__(self, *, bus_bytes, outstanding):
        if not isinstance(outstanding, int) or outstanding < 1:
            raise ValueError(f"Outstanding reads must be a positive integer, not {outstanding!r}")
        self._bus_bytes = bus_bytes
        self._outstanding = outstanding
        beat = stream.Signature(8 * bus_bytes)
        super().__init__({
            "access": In(stream.Signature(ExternalAccess(bus_bytes=bus_bytes))),
            "answer": Out(8 * bus_bytes), "answered": Out(1),
            "written": Out(1),
            "flush": In(1),
            "request": Out(stream.Signature(ExternalRequest())),
            "write": Out(beat),
            "read": In(beat),
        })

    def elaborate(self, platform):
        m = Module()
        entry = Signal(ExternalAccess(bus_bytes=self._bus_bytes))
        done, discard = Signal(), Signal()
        m.d.comb += [
            self.request.payload.address.eq(entry.address),
            self.request.payload.write.eq(entry.write),
            self.write.payload.eq(entry.data),
            # An access is done when neither half is left after this cycle.
            done.eq((~self.request.valid | self.request.ready)
                    & (~self.write.valid | self.write.ready)),
            self.access.ready.eq(done & ~discard & ~self.flush),
            self.written.eq(done & entry.last & (self.request.valid | self.write.valid)),
        ]
        with m.If(self.request.ready):
            m.d.sync += self.request.valid.eq(0)
        with m.If(self.write.ready):
            m.d.sync += self.write.valid.eq(0)
        with m.If(self.access.valid & self.access.ready):
            m.d.sync += [entry.eq(self.access.payload), self.request.valid.eq(1),
                         self.write.valid.eq(self.access.payload.write)]
        with m.If(self.flush):
            m.d.sync += entry.last.eq(0)
        self._answers(m, discard)
        return m

    def _answers(self, m, discard):
        # One read may sit in the request register when the user's room is taken.
        due = Signal(range(self._outstanding + 2))
        asked, taken = Signal(), Signal()
        m.d.comb += [
            asked.eq(self.access.valid & self.access.ready & ~self.access.payload.write),
            self.read.ready.eq(1),
            taken.eq(self.read.valid & (due != 0)),
            self.answer.eq(self.read.payload), self.answered.eq(taken & ~discard),
        ]
        m.d.sync += due.eq(due + asked - taken)
        with m.If(self.flush):
            m.d.sync += discard.eq(1)
        with m.Elif(due == 0):
            m.d.sync += discard.eq(0)
