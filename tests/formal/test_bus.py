"""Every request on the system bus reaches one memory once; every read is answered once, to its own.

And who waits is served: of two, the host at once when the memory is free, the mover after the host;
of three, each in its turn.
"""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.bus import MASTERS, MESH_MASTERS, Bus
from systolith.hw.config import MEMORIES, SYSTEM_READ_LATENCY
from tests.formal.history import history
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import given, holds, implies, past, prove, refute
from tests.formal.sizes import CONFIG


class BusProof(wiring.Component):
    """Masters and memories are free, but a master keeps a request until it is accepted.

    Parameters
    ----------
    masters : tuple of str
        Of the bus.
    """

    def __init__(self, masters=MASTERS):
        self._bus, self._names = Bus(bus_bytes=CONFIG.bus_bytes, masters=masters), masters
        super().__init__(self._bus.signature)

    def elaborate(self, platform):
        m = Module()
        self._inside = Inside(self._bus)
        m.submodules.bus, bus = self._inside.fragment, self._bus
        connect(m, flipped(self), bus)
        self._ports = {region: getattr(bus, region.name.lower()) for region in MEMORIES}
        self._masters = [getattr(bus, name) for name in self._names]
        for master in self._masters:
            self._master(m, master)
        self._requests(m)
        if self._names == MASTERS:
            self._host_first(m)
        else:
            for watched in range(len(self._masters)):
                for write in range(2):
                    self._in_turn(m, watched, write)
        return m

    def _accepts(self, port, master):
        """The memory accepts a request that is the master's."""
        write = (port.write.valid & port.write.ready & (port.write.address == master.address)
                 & (port.write.mask == master.mask) & (port.write.data == master.data))
        read = port.read.valid & port.read.ready & (port.read.address == master.address)
        return Mux(master.write, write, read)

    def _free(self, m, master):
        """The memory that a master asks would accept its request."""
        free = Signal()
        for region, port in self._ports.items():
            with m.If(master.region == region):
                m.d.comb += free.eq(Mux(master.write, port.write.ready, port.read.ready))
        return free

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
                              master.read_data == port.read.data)),
            ]
        asks = Cat(master.valid, master.write, master.region, master.address, master.mask,
                   master.data)
        m.d.comb += given(implies(past(m, master.valid & ~master.ready), asks == past(m, asks)))

    def _requests(self, m):
        """What a memory accepts is one master's, and at most one memory is asked a cycle: on each
        way, or where two masters share it, on both together."""
        ways = [(0, "read"), (1, "write")]
        for write, way in ways:
            ports = [getattr(port, way) for port in self._ports.values()]
            served = Cat(master.valid & master.ready & (master.write == write)
                         for master in self._masters)
            m.d.comb += [
                holds(Cat(port.valid & port.ready for port in ports).any() == served.any()),
                holds((served & (served - 1))[:len(served)] == 0),
                holds(sum(port.valid for port in ports) <= 1),
            ]
        if self._names == MASTERS:
            m.d.comb += holds(sum(getattr(port, way).valid for port in self._ports.values()
                                  for _, way in ways) <= 1)

    def _host_first(self, m):
        """The host waits for one request of the mover at most, the mover for the host alone."""
        host, mover = self._masters
        free = {each: self._free(m, each) for each in self._masters}
        served = past(m, host.valid & ~host.ready & mover.valid & mover.ready)
        asked = past(m, host.valid)  # the bus comes in the cycle after the host asks for it
        m.d.comb += [
            # Nothing but the memory keeps a master waiting that is alone.
            holds(implies(host.valid & asked & ~past(m, mover.valid), host.ready == free[host])),
            holds(implies(mover.valid & ~asked, mover.ready == free[mover])),
            holds(implies(host.valid & asked & ~host.ready & mover.valid & mover.ready,
                          past(m, mover.valid & ~mover.ready))),
            holds(implies(served, host.ready == free[host])),
        ]

    def _in_turn(self, m, watched, write):
        """While a master waits, each other one is served on the same way at most once.

        ``passed``: those that were. All of them are between it and the one that was served last, if
        one goes round, or it is its turn.
        """
        way, count = ("read", "write")[write], len(self._masters)
        last, held = (self._inside.signal(f"{way}_{name}") for name in ("last", "held"))
        asks = Cat(master.valid & (master.write == write) for master in self._masters)
        served = asks & Cat(master.ready for master in self._masters)
        passed = Signal(count, name=f"passed_{way}_{watched}")
        waits = asks[watched] & ~served[watched]
        m.d.sync += passed.eq(Mux(waits, passed | served, 0))
        order = [(watched + step) % count for step in range(count)]
        m.d.comb += [
            holds((passed & served) == 0), holds(implies(passed.any(), asks[watched])),
            holds(~passed[watched]), holds(last < count),
            holds(implies(held, asks.bit_select(last, 1))),
            holds(implies(asks[watched] & (asks.bit_select(watched, 1) == asks),
                          served[watched] == self._free(m, self._masters[watched]))),
        ]
        for step, index in enumerate(order[1:], 1):
            beyond = Cat(last == other for other in order[step:]).any()
            m.d.comb += holds(implies(passed[index], (beyond & ~(held & (last == index)))
                                      | (held & (last == watched))))


@pytest.mark.parametrize("masters", [MASTERS, MESH_MASTERS])
def test_bus(masters):
    prove(BusProof(masters), f"bus_{len(masters)}", depth=SYSTEM_READ_LATENCY + 1)


@pytest.mark.parametrize(("name", "masters", "old", "new"), [
    ("answers_the_other", MASTERS, "each.answer.eq(read & (whose == index))",
     "each.answer.eq(read)"),
    ("answers_writes", MASTERS, "self._answer(m, reads.valid & ~reads.write & reads_ready",
     "self._answer(m, reads.valid & reads_ready"),
    ("answers_late", MASTERS, "range(1, self._read_latency + 1)",
     "range(1, self._read_latency + 2)"),
    ("accepts_for_both", MASTERS, "reads_ready & (read_choice == index)", "reads_ready"),
    ("starves_the_host", MASTERS, "choice.eq(held | ~self.host.valid)",
     "choice.eq(held | self.mover.valid | ~self.host.valid)"),
    ("prefers_the_first", MESH_MASTERS, "m.d.sync += last.eq(choice)", "m.d.sync += last.eq(2)"),
    ("mixes_the_ways", MESH_MASTERS, "writes_ready & (write_choice == index)",
     "writes_ready & (read_choice == index)"),
])
def test_a_broken_bus_is_found(name, masters, old, new, monkeypatch):
    break_design(monkeypatch, "bus", old, new)
    refute(BusProof(masters), f"bus_{name}", depth=8)
