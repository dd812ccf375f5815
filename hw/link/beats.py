"""Words of the link, gathered to beats of external memory."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.external import ExternalPort
from systolith.hw.link.port import AccessPort


class Beats(wiring.Component):
    """Reads and writes words of external memory that come in order, whole beats of them.

    Parameters
    ----------
    bus_bytes : int
        Bytes of a beat, a power of two, at least 4.

    Members
    -------
    port : In(AccessPort)
        The words: as many as a beat has, from its first on, all read or all written.
    request, write : Out(stream), read : In(stream)
        To external memory, see :class:`ExternalPort`.
    """

    def __init__(self, *, bus_bytes):
        self._external = ExternalPort(bus_bytes=bus_bytes, outstanding=1)
        self._lanes = bus_bytes // 4
        members = self._external.signature.members
        super().__init__({"port": In(AccessPort()),
                          **{name: members[name] for name in ("request", "write", "read")}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.external = external = self._external
        for name in ("request", "write"):
            connect(m, getattr(external, name), flipped(getattr(self, name)))
        connect(m, flipped(self.read), external.read)
        words, response, access = self.port.request, self.port.response, external.access
        lane = Signal((self._lanes - 1).bit_length())
        beat = Signal(32 * self._lanes)
        due = Signal()  # a beat that was asked for has not come
        free = Signal()
        first, last = lane == 0, lane == self._lanes - 1
        # A beat is asked for with its first word, and written with its last.
        whole = Mux(words.p.write, last, first)
        m.d.comb += [
            free.eq(~due & (~response.valid | response.ready)),
            access.valid.eq(words.valid & free & whole),
            words.ready.eq(free & (access.ready | ~whole)),
            lane.eq(words.p.address[2:]), access.p.address.eq(
                Cat(Const(0, (4 * self._lanes).bit_length() - 1),
                    words.p.address[(4 * self._lanes).bit_length() - 1:])),
            access.p.write.eq(words.p.write),
            access.p.data.eq(Cat(beat[:-32], words.p.data)),
        ]
        with m.If(response.ready):
            m.d.sync += response.valid.eq(0)
        with m.If(words.valid & words.ready):
            with m.If(words.p.write):
                m.d.sync += beat.word_select(lane, 32).eq(words.p.data)
            with m.Else():
                m.d.sync += [due.eq(first), response.valid.eq(~first),
                             response.payload.eq(beat.word_select(lane, 32))]
        with m.If(external.answered):
            m.d.sync += [beat.eq(external.answer), due.eq(0), response.valid.eq(1),
                         response.payload.eq(external.answer[:32])]
        return m
