"""Each request of the host has one effect, and each read one answer, in order, of its own word."""
import pytest
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.config import CORE_SHIFT, MEMORIES, REGION_SHIFT, Region
from systolith.hw.host import HostPort, HostRequest
from systolith.hw.isa import ENGINES
from systolith.hw.registers import REGISTER_BYTES
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import given, holds, implies, past, prove, refute
from tests.formal.sizes import CONFIG


class HostProof(wiring.Component):
    """Memories answer an accepted read once, whenever they want; all else is free."""

    def __init__(self):
        self._host = HostPort(config=CONFIG)
        super().__init__(self._host.signature)

    def elaborate(self, platform):
        m = Module()
        self._inside = Inside(self._host)
        m.submodules.host = self._inside.fragment
        connect(m, flipped(self), self._host)
        host, bus = self._host, self._host.bus
        self._access = data.View(HostRequest(), self._inside.signal("access"))
        self._present = self._inside.signal("present")
        self._region = self._access.address[REGION_SHIFT:CORE_SHIFT]
        due = Signal()
        m.d.sync += due.eq(Mux(bus.answer, 0, due | (bus.valid & bus.ready & ~bus.write)))
        m.d.comb += [given(implies(bus.answer, due)), given(~(host.hold & due))]
        self._allowed(m)
        self._effects(m, due)
        self._answers(m, due)
        return m

    def _allowed(self, m):
        """What counts as good is what the host port's rules allow."""
        access, region = self._access, self._region
        limits = {region: CONFIG.region_bytes(region) for region in MEMORIES}
        limits |= {Region.REGISTERS: REGISTER_BYTES, Region.QUEUES: 4 * len(ENGINES)}
        inside = Cat((region == each) & (access.address[:REGION_SHIFT] < limit)
                     for each, limit in limits.items()).any()
        forbidden = region == Mux(access.write, Region.ACC, Region.QUEUES)
        good = inside & ~forbidden & (access.address[:2] == 0) & (access.address[CORE_SHIFT:] == 0)
        m.d.comb += [
            holds(implies(self._present, self._inside.signal("good") == good)),
            holds(implies(self._present, self._inside.signal("memory") == (
                good & Cat(region == each for each in MEMORIES).any()))),
        ]

    def _effects(self, m, due):
        """From a request's acceptance until the next one's there is one effect, of its kind."""
        host, bus, access = self._host, self._host.bus, self._access
        ended = self._present & host.request.ready
        kinds = {Region.REGISTERS: host.registers.write, Region.QUEUES: host.push.any()
                 | host.overrun.any()}
        accepted = bus.valid & bus.ready
        effects = Cat(*kinds.values(), accepted, host.fault)
        had = Signal()
        m.d.sync += had.eq(~ended & (had | effects.any()))
        reads_register = (self._region == Region.REGISTERS) & ~access.write
        good = self._inside.signal("good")
        m.d.comb += [
            holds(sum(effects) <= 1),
            holds(implies(effects.any(), self._present & ~had & ~host.hold)),
            holds(implies(ended, had | effects.any() | (good & reads_register))),
            holds(implies(host.fault, ended & ~good)),
            holds(implies(Cat(effects[:-1]).any(), good)),
            holds(implies(accepted, (bus.write == access.write) & (bus.region == self._region))),
            holds(implies(host.registers.write | host.push.any() | host.overrun.any(),
                          access.write)),
            *(holds(implies(effect, self._region == region)) for region, effect in kinds.items()),
            # Invariants: what waits is the read of a memory that was accepted.
            holds(implies(had, self._present)), holds(had == due),
        ]

    def _answers(self, m, due):
        host, access = self._host, self._access
        given_back = host.response.valid & host.response.ready
        taken = host.request.valid & host.request.ready & ~host.request.p.write
        owed = Signal(2)
        m.d.sync += owed.eq(owed + taken - given_back)
        ended = self._present & host.request.ready & ~access.write
        good, waiting = self._inside.signal("good"), self._inside.signal("_waiting")
        memory = (self._region != Region.REGISTERS) & (self._region != Region.QUEUES)
        word = Mux(good, Mux(memory, host.bus.read_data, host.registers.read_data), 0)
        m.d.comb += [
            holds(owed == (self._present & ~access.write) + host.response.valid),
            holds(implies(past(m, ended), host.response.valid
                          & (host.response.payload == past(m, word)))),
            holds(implies(ended & memory & good, host.bus.answer)),
            # A register was asked a whole cycle before.
            holds(implies(ended & good & (self._region == Region.REGISTERS),
                          past(m, self._present) & ~past(m, ended)
                          & (host.registers.address == past(m, host.registers.address)))),
            holds(implies(due, waiting & good & memory & ~access.write)),
            holds(implies(waiting, self._present & good & ~access.write & ~host.response.valid
                          & (self._region != Region.QUEUES))),
            holds(implies(waiting & memory, due)),
            holds(implies(self._inside.signal("asked"), self._present & good & ~access.write
                          & (self._region == Region.REGISTERS))),
        ]


def test_host_port():
    prove(HostProof(), "host", depth=3)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("asks_again", "self.bus.valid.eq(active & ~self._waiting)", "self.bus.valid.eq(active)"),
    ("answers_writes", "with m.If(done & ~access.write):", "with m.If(done):"),
    ("bad_reads_unanswered", "with m.If(done & ~access.write):",
     "with m.If(done & good & ~access.write):"),
    ("reaches_beyond", "inside.eq(offset < limit)", "inside.eq(offset <= limit)"),
    ("does_the_bad", "self._queues(m, active & good &", "self._queues(m, active &"),
    ("does_not_hold", "present & ~self.hold & (access", "present & (access"),
    ("answers_over_another", "(access.write | ~self.response.valid)", "Const(1)"),
])
def test_a_broken_host_port_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "host", old, new)
    refute(HostProof(), f"host_{name}", depth=10)
