"""Every request on the system bus reaches one memory once; every read is answered once, to its own.

And who waits is served: the host at once when the memory is free, the mover after the host.
"""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.bus import Bus
from systolith.hw.config import MEMORIES, SYSTEM_READ_LATENCY
from tests.formal.history import history
from tests.formal.mutant import break_design
from tests.formal.prove import given, holds, implies, past, prove, refute
from tests.formal.sizes import CONFIG


class BusProof(wiring.Component):
    """Masters and memories are free, but a master keeps a request until it is accepted."""

    def __init__(self):
        self._bus = Bus(bus_bytes=CONFIG.bus_bytes)
        super().__init__(self._bus.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.bus = bus = self._bus
        connect(m, flipped(self), bus)
        self._ports = {region: getattr(bus, region.name.lower()) for region in MEMORIES}
        for master in (bus.host, bus.mover):
            self._master(m, master)
        self._requests(m)
        self._fair(m)
        return m

    def _accepts(self, port, master):
        """The memory accepts a request that is the master's."""
        return (port.valid & port.ready & (port.write == master.write)
                & (port.address == master.address) & (port.mask == master.mask)
                & (port.data == master.data))

    def _master(self, m, master):
        """What is accepted is what the master asked for; its answer is the one memory's."""
        accepted = master.valid & master.ready
        reads = accepted & ~master.write
        m.d.comb += holds(master.answer == history(m, reads, SYSTEM_READ_LATENCY))
        for region, port in self._ports.items():
            mine = master.region == region
            m.d.comb += [
                given(master.region.matches(*MEMORIES)),
                holds(implies(accepted & mine, self._accepts(port, master))),
                holds(implies(history(m, reads & mine, SYSTEM_READ_LATENCY),
                              master.read_data == port.read_data)),
            ]
        asks = Cat(master.valid, master.write, master.region, master.address, master.mask,
                   master.data)
        m.d.comb += given(implies(past(m, master.valid & ~master.ready), asks == past(m, asks)))

    def _requests(self, m):
        """A memory's acceptance is one master's, and at most one memory is asked a cycle."""
        host, mover = self._bus.host, self._bus.mover
        accepted = Cat(port.valid & port.ready for port in self._ports.values())
        m.d.comb += [
            holds(accepted.any() == ((host.valid & host.ready) | (mover.valid & mover.ready))),
            holds(~(host.valid & host.ready & mover.valid & mover.ready)),
            holds(sum(port.valid for port in self._ports.values()) <= 1),
        ]

    def _fair(self, m):
        """The host waits for one request of the mover at most, the mover for the host alone."""
        host, mover = self._bus.host, self._bus.mover
        free = {master: Signal(name=f"free_{name}") for master, name in (
            (host, "host"), (mover, "mover"))}
        for master, signal in free.items():
            for region, port in self._ports.items():
                with m.If(master.region == region):
                    m.d.comb += signal.eq(port.ready)
        served = past(m, host.valid & ~host.ready & mover.valid & mover.ready)
        m.d.comb += [
            # Nothing but the memory keeps a master waiting that is alone.
            holds(implies(host.valid & ~mover.valid, host.ready == free[host])),
            holds(implies(mover.valid & ~host.valid, mover.ready == free[mover])),
            holds(implies(host.valid & ~host.ready & mover.valid & mover.ready,
                          past(m, mover.valid & ~mover.ready))),
            holds(implies(served, host.ready == free[host])),
        ]


def test_bus():
    prove(BusProof(), "bus", depth=SYSTEM_READ_LATENCY + 1)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("answers_the_other", "each.answer.eq(read & (whose == index))", "each.answer.eq(read)"),
    ("answers_writes", "master.valid & master.ready & ~master.write, master.region",
     "master.valid & master.ready, master.region"),
    ("answers_late", "range(1, self._read_latency + 1)", "range(1, self._read_latency + 2)"),
    ("accepts_for_both", "master.ready.eq(chosen.ready),", "master.ready.eq(chosen.valid),"),
    ("starves_the_host", "choice.eq(Mux(held, 1, ~self.host.valid))",
     "choice.eq(Mux(held, 1, self.mover.valid | ~self.host.valid))"),
])
def test_a_broken_bus_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "bus", old, new)
    refute(BusProof(), f"bus_{name}", depth=8)
