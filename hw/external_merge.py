"""The external memory of several cores: one port for all of them."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.external import ExternalRequest
from systolith.hw.external_share import ExternalUser
from systolith.hw.mesh.merge import Merge
from systolith.hw.queue import Queue


class ExternalMerge(wiring.Component):
    """Serves its users in turn, one access a cycle.

    Requests pass without a cycle of delay, in turn as :class:`Merge` does it. A beat to write comes
    with its request or after it, in the order of the requests. Reads are answered in the order of
    the requests, so the memory waits for whom an answer belongs to, which is known two cycles
    after its request.

    Parameters
    ----------
    bus_bytes : int
        Bytes of a beat.
    count : int
        Number of users.
    reads : int
        Reads that may be unanswered, all together; a power of two.

    Members
    -------
    users : In(ExternalUser).array(count)
        The users. Each offers the next request only when the one before, and the beat of a write,
        have been accepted, as :class:`ExternalPort` does.
    memory : Out(ExternalUser)
        The memory.
    """

    def __init__(self, *, bus_bytes, count, reads=256):
        self._count, self._reads = count, reads
        user = ExternalUser(bus_bytes=bus_bytes)
        super().__init__({"users": In(user).array(count), "memory": Out(user)})

    def elaborate(self, platform):
        m = Module()
        who = range(self._count)
        layout = data.StructLayout({"request": ExternalRequest(), "who": len(Const(0, who))})
        m.submodules.merge = merge = Merge(width=layout.size, count=self._count)
        m.submodules.readers = readers = Queue(shape=who, depth=self._reads)
        for index, (user, i) in enumerate(zip(self.users, merge.i, strict=True)):
            m.d.comb += [i.valid.eq(user.request.valid), user.request.ready.eq(i.ready),
                         i.payload.eq(Cat(user.request.payload, Const(index, who)))]
        chosen, memory = data.View(layout, merge.o.payload), self.memory
        write = chosen.request.write
        asked = Signal()
        m.d.comb += [
            memory.request.payload.eq(chosen.request),
            memory.request.valid.eq(merge.o.valid & (write | readers.i.ready)),
            merge.o.ready.eq(memory.request.ready & (write | readers.i.ready)),
            asked.eq(memory.request.valid & memory.request.ready),
            readers.i.valid.eq(asked & ~write), readers.i.payload.eq(chosen.who),
        ]
        self._write(m, merge.o.valid & write, chosen.who, asked & write)
        self._read(m, readers)
        return m

    def _write(self, m, asks, who, asked):
        """Beats follow the requests that were accepted; without any, the one on offer may be
        accepted before its request is."""
        m.submodules.writers = writers = Queue(
            shape=range(self._count), depth=_power_of_two(self._count), distributed=True)
        early = Signal()
        source = Signal(range(self._count))
        written = Signal()
        memory = self.memory
        m.d.comb += [source.eq(Mux(writers.o.valid, writers.o.payload, who)),
                     written.eq(memory.write.valid & memory.write.ready),
                     writers.o.ready.eq(written), writers.i.payload.eq(who),
                     writers.i.valid.eq(asked & ~early & (writers.o.valid | ~written))]
        with m.Switch(source):
            for index, user in enumerate(self.users):
                with m.Case(index):
                    m.d.comb += [
                        memory.write.valid.eq(user.write.valid & (writers.o.valid
                                                                  | (asks & ~early))),
                        memory.write.payload.eq(user.write.payload),
                        user.write.ready.eq(written),
                    ]
        with m.If(asked):
            m.d.sync += early.eq(0)
        with m.Elif(written & ~writers.o.valid):
            m.d.sync += early.eq(1)

    def _read(self, m, readers):
        memory = self.memory
        m.d.comb += readers.o.ready.eq(memory.read.valid & memory.read.ready)
        for index, user in enumerate(self.users):
            mine = readers.o.valid & (readers.o.payload == index)
            m.d.comb += [user.read.payload.eq(memory.read.payload),
                         user.read.valid.eq(memory.read.valid & mine)]
            with m.If(mine):
                m.d.comb += memory.read.ready.eq(user.read.ready)


def _power_of_two(count):
    """The least one that is not below ``count``, and at least 2."""
    return max(2, 1 << (count - 1).bit_length())
