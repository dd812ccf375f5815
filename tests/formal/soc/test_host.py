"""Each Wishbone access has one end and one effect, and each read its own answer."""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.config import CORE_SHIFT, MEMORIES, REGION_SHIFT, Region
from systolith.hw.host import HostRequest
from systolith.hw.isa import ENGINES
from systolith.hw.registers import REGISTER_BYTES
from systolith.hw.soc.host import WishboneHost
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import given, holds, implies, past, prove, refute
from tests.formal.sizes import CONFIG


def is_good(access):
    """What the host port's rules allow."""
    region, offset = access.address[REGION_SHIFT:CORE_SHIFT], access.address[:REGION_SHIFT]
    limits = {region: CONFIG.region_bytes(region) for region in MEMORIES}
    limits |= {Region.REGISTERS: REGISTER_BYTES, Region.QUEUES: 4 * len(ENGINES)}
    inside = Cat((region == each) & (offset < limit) for each, limit in limits.items()).any()
    return (inside & (region != Mux(access.write, Region.ACC, Region.QUEUES))
            & (access.address[:2] == 0) & (access.address[CORE_SHIFT:] == 0))


class BridgeProof(wiring.Component):
    """The master may give up at any time; else an access stays as it is. The chip takes requests
    and answers reads, each once, whenever it wants."""

    def __init__(self):
        self._bridge = WishboneHost(config=CONFIG)
        super().__init__(self._bridge.signature)

    def elaborate(self, platform):
        m = Module()
        bridge, inside = self._bridge, Inside(self._bridge)
        m.submodules.bridge = inside.fragment
        connect(m, flipped(self), bridge)
        bus, request, response = bridge.bus, bridge.request, bridge.response
        signals = Cat(bus.we, bus.adr, bus.sel, bus.dat_w)
        active, end, busy = bus.cyc & bus.stb, bus.ack | bus.err, request.valid | response.ready
        taken, answered = (each.valid & each.ready for each in (request, response))
        due, stale = Signal(), Signal()  # an answer is; what goes on has been given up
        finished = (taken & request.p.write) | answered
        m.d.sync += [due.eq((due | (taken & ~request.p.write)) & ~answered),
                     stale.eq((stale | ~active) & busy & ~finished)]
        m.d.comb += [
            given(implies(past(m, active & ~end) & active, signals == past(m, signals))),
            given(implies(response.valid, due)),
            # What the bridge waits for is what is due.
            holds(response.ready == due), holds(~(request.valid & due)),
            # Invariants: who has given up is known; an answer is that of the request.
            holds(implies(busy, inside.signal("gone") == stale)),
            holds(implies(due, ~request.p.write)),
            # Nothing idles.
            holds(implies(past(m, active & ~busy & ~end) & active, busy | end)),
        ]
        self._ends(m, active, stale, taken, answered)
        return m

    def _ends(self, m, active, stale, taken, answered):
        bus, request, response = self._bridge.bus, self._bridge.request, self._bridge.response
        access = Signal(HostRequest())
        m.d.comb += [access.write.eq(bus.we), access.address.eq(bus.adr << 2),
                     access.data.eq(bus.dat_w)]
        good = is_good(access) & (~bus.we | bus.sel.all())
        mine = active & ~stale
        m.d.comb += [
            holds(~(bus.ack & bus.err)), holds(implies(bus.ack | bus.err, mine)),
            holds(bus.stall == (bus.cyc & ~(bus.ack | bus.err))),
            holds(implies(bus.err, ~good & ~request.valid & ~response.ready)),
            holds(implies(request.valid, is_good(request.payload))),
            holds(implies((request.valid | response.ready) & mine,
                          good & (Value.cast(request.payload) == Value.cast(access)))),
            # A write ends with its effect, a read with its answer, and neither without an end.
            holds(implies(taken & mine & bus.we, bus.ack)),
            holds(implies(answered & mine, bus.ack & ~bus.we)),
            holds(implies(bus.ack, Mux(bus.we, taken, answered))),
            holds(implies(bus.ack & ~bus.we, bus.dat_r == response.payload)),
        ]


def test_wishbone_host():
    prove(BridgeProof(), "wishbone_host", depth=3)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("answers_another", "bus.ack.eq(done & active & ~gone)", "bus.ack.eq(done & active)"),
    ("writes_parts", "& (~bus.we | bus.sel.all()))", ")"),
    ("passes_the_bad", "with m.If(active & good):", "with m.If(active):"),
    ("ends_early", "done.eq(self.request.ready & self.request.p.write)",
     "done.eq(self.request.p.write)"),
    ("makes_answers_up", "done.eq(self.response.valid)", "done.eq(1)"),
    ("ends_twice", "bus.err.eq(active)", "[bus.err.eq(1), bus.ack.eq(1)]"),
])
def test_a_broken_bridge_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "soc.host", old, new)
    refute(BridgeProof(), f"wishbone_host_{name}", depth=8)
