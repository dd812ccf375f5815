"""An access of the Wishbone master stays until its end, and each request is one access."""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.soc.memory import WishboneMemory
from tests.formal.mutant import break_design
from tests.formal.prove import constant, given, holds, implies, past, prove, refute
from tests.formal.sizes import CONFIG


class MasterProof(wiring.Component):
    """The memory ends accesses when it wants, the chip sends and takes when it wants."""

    def __init__(self):
        self._master = WishboneMemory(bus_bytes=CONFIG.bus_bytes)
        super().__init__(self._master.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.master = master = self._master
        connect(m, flipped(self), master)
        user, bus = master.user, master.bus
        active, ends = bus.cyc & bus.stb, bus.ack | bus.err
        base = constant(m, master.base)
        for each in (user.request, user.write):
            offered = Cat(each.valid, each.payload)
            m.d.comb += given(implies(past(m, each.valid & ~each.ready),
                                      offered == past(m, offered)))
        access = Cat(active, bus.we, bus.adr, bus.sel, Mux(bus.we, bus.dat_w, 0))
        m.d.comb += [
            holds(implies(past(m, active & ~ends), access == past(m, access))),
            holds(bus.cyc == bus.stb), holds(implies(active, bus.sel.all())),
            holds(implies(active, user.request.valid & (bus.we == user.request.p.write))),
            holds(implies(active, bus.adr == ((base | user.request.p.address) >> BEAT_SHIFT))),
            holds(implies(active & bus.we, user.write.valid & (bus.dat_w == user.write.payload))),
            # A request and its beat leave with the end of the access, and with nothing else.
            holds(user.request.ready == (active & ends)),
            holds(user.write.ready == (active & ends & bus.we)),
            # A read beat comes from the end of a read, and pushes out none that waits.
            holds(implies(past(m, active & ends & ~bus.we),
                          user.read.valid & (user.read.payload == past(m, bus.dat_r)))),
            holds(implies(past(m, user.read.valid & ~user.read.ready),
                          user.read.valid & (user.read.payload == past(m, user.read.payload)))),
            holds(implies(past(m, ~(active & ends & ~bus.we) & (~user.read.valid
                                                                | user.read.ready)),
                          ~user.read.valid)),
            holds(implies(past(m, active & bus.err), master.error)),
            # Nothing idles.
            holds(implies(user.request.valid & ~user.request.p.write & ~user.read.valid, active)),
            holds(implies(user.request.valid & user.request.p.write & user.write.valid, active)),
        ]
        return m


#: Bits of an address within a beat.
BEAT_SHIFT = (CONFIG.bus_bytes - 1).bit_length()


def test_wishbone_memory():
    prove(MasterProof(), "wishbone_memory", depth=2)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("gives_up", "free.eq(~read.valid | read.ready)", "free.eq(read.ready)"),
    ("pushes_out", "free.eq(~read.valid | read.ready)", "free.eq(1)"),
    ("writes_nothing", "Mux(request.p.write, write.valid, free)", "free"),
    ("ends_at_once", "ended.eq(bus.stb & (bus.ack | bus.err))", "ended.eq(bus.stb)"),
    ("waits_for_ever", "ended.eq(bus.stb & (bus.ack | bus.err))", "ended.eq(bus.stb & bus.ack)"),
    ("loses_beats", "with m.If(ended & ~bus.we):", "with m.If(ended & ~bus.we & ~read.valid):"),
    ("hides_errors", "self.error | (bus.stb & bus.err)", "self.error"),
])
def test_a_broken_master_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "soc.memory", old, new)
    refute(MasterProof(), f"wishbone_memory_{name}", depth=8)
