"""Two users of one external memory."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.external import ExternalRequest

#: Reads that a user may have asked for and not been answered.
DUE = 256


class ExternalUser(wiring.Signature):
    """The three streams to external memory, seen from who uses it."""

    def __init__(self, *, bus_bytes):
        beat = stream.Signature(8 * bus_bytes)
        super().__init__({"request": Out(stream.Signature(ExternalRequest())),
                          "write": Out(beat), "read": In(beat)})


class ExternalShare(wiring.Component):
    """Gives the memory to one user until the other wants it; then it ends what it has begun.

    Combinational; a change of the owner takes the time of the reads that are due and a cycle.
    While both want it, each gets an access a turn.

    Parameters
    ----------
    bus_bytes : int
        Bytes of a beat.

    Members
    -------
    chip, link : In(ExternalUser)
        The users. Beats to write may come before or after their requests, one at most before.
    memory : Out(ExternalUser)
        The memory.
    """

    def __init__(self, *, bus_bytes):
        user = ExternalUser(bus_bytes=bus_bytes)
        super().__init__({"chip": In(user), "link": In(user), "memory": Out(user)})

    def elaborate(self, platform):
        m = Module()
        owner = Signal()  # the index in `users`
        yields = Signal()
        due = Signal(range(DUE))
        room = Signal()  # a register, from the count of the cycle before
        surplus = Signal(signed(2))  # write requests without beats, or beats without requests
        offered, written = Signal(), Signal()  # and not accepted: they must stay
        served = Signal()  # in this turn; without it, two who want would pass it on for ever
        users, memory = (self.chip, self.link), self.memory
        wants = [user.request.valid | user.write.valid for user in users]
        mine, others = Mux(owner, wants[1], wants[0]), Mux(owner, wants[0], wants[1])
        m.d.comb += yields.eq(others & (served | ~mine))
        for index, user in enumerate(users):
            with m.If(owner == index):
                asks = (~yields & room) | (surplus < 0) | offered
                self._pass(m, user, asks, ~yields | (surplus > 0) | written)
            m.d.comb += user.read.payload.eq(memory.read.payload)
        m.d.sync += [offered.eq(memory.request.valid & ~memory.request.ready),
                     written.eq(memory.write.valid & ~memory.write.ready)]
        asked, beat, answered = (each.valid & each.ready for each in (
            memory.request, memory.write, memory.read))
        write = memory.request.p.write
        m.d.sync += [due.eq(due + (asked & ~write) - answered), room.eq(due < DUE - 2),
                     surplus.eq(surplus + (asked & write) - beat),
                     served.eq(served | asked | beat)]
        busy = memory.request.valid | memory.write.valid
        with m.If(yields & ~busy & (due == 0) & (surplus == 0)):
            m.d.sync += [owner.eq(~owner), served.eq(0)]
        return m

    def _pass(self, m, user, asks, writes):
        """Wire a user to the memory, where it may ask and write."""
        memory = self.memory
        m.d.comb += [
            memory.request.valid.eq(user.request.valid & asks),
            user.request.ready.eq(memory.request.ready & asks),
            memory.request.payload.eq(user.request.payload),
            memory.write.valid.eq(user.write.valid & writes),
            user.write.ready.eq(memory.write.ready & writes),
            memory.write.payload.eq(user.write.payload),
            user.read.valid.eq(memory.read.valid), memory.read.ready.eq(user.read.ready),
        ]
