"""From the requests of a user of external memory to accesses of an SDRAM."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.external_share import ExternalUser
from systolith.hw.queue import Queue
from systolith.hw.sdram.accesses import Accesses
from systolith.hw.sdram.interface import SdramAccess
from systolith.hw.sdram.timing import WORD_BYTES

#: Beats read that the user has not taken or the chip has not sent; more than the latency of a read.
READS = 32
#: Beats to write that wait for their bursts.
WRITES = 16


class Requests(wiring.Component):
    """Splits addresses, keeps beats to write, and room for beats read.

    A write is accepted together with its beat, and a read when there is room for its beat, so
    nothing that was accepted waits for the user: a refresh must not.

    A row of all banks lies in one piece: the lowest bits of an address are the column, then come
    the bank and the row. So a stream that leaves a row finds the next in another bank. Addresses
    beyond the end start again at 0.

    Parameters
    ----------
    chip : SdramChip
        Geometry.
    bus_bytes : int
        Bytes of a beat.

    Members
    -------
    user : In(ExternalUser)
        See :class:`~systolith.hw.external.ExternalPort`.
    forget : In(1)
        Drop the beats that were asked for and not taken, also those that are yet to come.
    o : Out(stream of SdramAccess)
        Accesses in order.
    beat : Out(8 * bus_bytes), has_beat : Out(1), take : In(1)
        The beat of the oldest write that has not begun, and that it begins now.
    read : In(8 * bus_bytes), got : In(1)
        A beat read.
    """

    def __init__(self, *, chip, bus_bytes):
        self._chip, self._bus_bytes = chip, bus_bytes
        width = 8 * bus_bytes
        super().__init__({
            "user": In(ExternalUser(bus_bytes=bus_bytes)), "forget": In(1),
            "o": Out(stream.Signature(SdramAccess(chip))),
            "beat": Out(width), "has_beat": Out(1), "take": In(1),
            "read": In(width), "got": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        width = 8 * self._bus_bytes
        m.submodules.writes = writes = Queue(shape=width, depth=WRITES)
        m.submodules.accesses = accesses = Accesses(chip=self._chip, depth=2)
        wiring.connect(m, accesses.o, wiring.flipped(self.o))
        request, write = self.user.request, self.user.write
        asked, written, room = Signal(), Signal(), Signal()
        m.d.comb += [
            asked.eq(request.valid & ~request.p.write & room & accesses.i.ready),
            written.eq(request.valid & request.p.write & write.valid & writes.i.ready
                       & accesses.i.ready),
            request.ready.eq(asked | written), write.ready.eq(written),
            accesses.i.valid.eq(request.ready),
            writes.i.valid.eq(written), writes.i.payload.eq(write.payload),
            self.beat.eq(writes.o.payload), self.has_beat.eq(writes.o.valid),
            writes.o.ready.eq(self.take),
        ]
        self._split(m, request.payload, accesses.i.payload)
        self._answer(m, asked, room)
        return m

    def _answer(self, m, asked, room):
        """Keep the beats read until they are taken, and tell when there is room for more."""
        reads = Queue(shape=8 * self._bus_bytes, depth=READS)
        m.submodules.reads = ResetInserter(self.forget)(reads)
        due, dropped, kept = (Signal(range(READS + 1), name=name)
                              for name in ("due", "dropped", "kept"))
        after, drops = Signal.like(due), Signal()
        read = self.user.read
        m.d.comb += [
            after.eq(due + asked - self.got), drops.eq(self.forget | (dropped != 0)),
            # A beat that is due needs room, wherever it goes.
            room.eq(due + kept < READS),
            reads.i.valid.eq(self.got & ~drops), reads.i.payload.eq(self.read),
            read.valid.eq(reads.o.valid), read.payload.eq(reads.o.payload),
            reads.o.ready.eq(read.ready),
        ]
        m.d.sync += due.eq(after)
        with m.If(self.forget):
            m.d.sync += [dropped.eq(after), kept.eq(0)]
        with m.Else():
            m.d.sync += [dropped.eq(dropped - (self.got & drops)),
                         kept.eq(kept + reads.i.valid - (read.valid & read.ready))]

    def _split(self, m, request, access):
        word = request.address[WORD_BYTES.bit_length() - 1:]
        offset = 0
        for field in (access.column, access.bank, access.row):
            m.d.comb += field.eq(word[offset:offset + len(field)])
            offset += len(field)
        m.d.comb += access.write.eq(request.write)
