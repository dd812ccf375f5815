"""The system bus of a core: host and mover reach the memories."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.config import MEMORIES, OFFSET_BITS, SYSTEM_READ_LATENCY, Region
from systolith.hw.interfaces import SystemPort

#: The masters, the first served first.
MASTERS = ("host", "mover")


class BusMaster(wiring.Signature):
    """One master's access to all memories, seen from the master.

    As :class:`SystemPort`, with the region, and with ``answer``: ``read_data`` is there,
    ``SYSTEM_READ_LATENCY`` cycles after a read was accepted.
    """

    def __init__(self, *, bus_bytes):
        super().__init__({
            "valid": Out(1), "ready": In(1), "write": Out(1), "region": Out(Region),
            "address": Out(OFFSET_BITS), "mask": Out(bus_bytes), "data": Out(8 * bus_bytes),
            "answer": In(1), "read_data": In(8 * bus_bytes),
        })


class Bus(wiring.Component):
    """Connects the masters to the system ports, one request a cycle, combinationally.

    The host goes first; but a request that a memory has seen and not accepted stays, as the rule
    of :class:`SystemPort` wants it.

    Parameters
    ----------
    bus_bytes : int
        Bytes of an access.

    Members
    -------
    host, mover : In(BusMaster)
        The masters.
    act, wgt, vec, const, row, acc : Out(SystemPort)
        The memories.
    """

    def __init__(self, *, bus_bytes):
        self._bus_bytes = bus_bytes
        super().__init__({
            **{name: In(BusMaster(bus_bytes=bus_bytes)) for name in MASTERS},
            **{region.name.lower(): Out(SystemPort(bus_bytes=bus_bytes)) for region in MEMORIES},
        })

    def _ports(self):
        return [(region, getattr(self, region.name.lower())) for region in MEMORIES]

    def elaborate(self, platform):
        m = Module()
        choice, held = Signal(), Signal()  # the index in MASTERS
        m.d.comb += choice.eq(Mux(held, 1, ~self.host.valid))
        m.d.sync += held.eq(self.mover.valid & choice & ~self.mover.ready)
        master = BusMaster(bus_bytes=self._bus_bytes).create(path=("chosen",))
        with m.If(choice):
            self._choose(m, master, self.mover)
        with m.Else():
            self._choose(m, master, self.host)
        for region, port in self._ports():
            selected = master.region == region
            m.d.comb += [
                port.valid.eq(master.valid & selected), port.write.eq(master.write),
                port.address.eq(master.address), port.mask.eq(master.mask),
                port.data.eq(master.data),
            ]
            with m.If(selected):
                m.d.comb += master.ready.eq(port.ready)
        self._answer(m, master, choice)
        return m

    def _choose(self, m, chosen, master):
        m.d.comb += [
            chosen.valid.eq(master.valid), chosen.write.eq(master.write),
            chosen.region.eq(master.region), chosen.address.eq(master.address),
            chosen.mask.eq(master.mask), chosen.data.eq(master.data),
            master.ready.eq(chosen.ready),
        ]

    def _answer(self, m, master, choice):
        """Follow each accepted read for its latency: which memory, which master."""
        read, region, whose = master.valid & master.ready & ~master.write, master.region, choice
        for stage in range(1, SYSTEM_READ_LATENCY + 1):
            before = read, region, whose
            after = (Signal(name=f"read{stage}"), Signal(Region, name=f"region{stage}"),
                     Signal(name=f"whose{stage}"))
            m.d.sync += [now.eq(then) for now, then in zip(after, before, strict=True)]
            read, region, whose = after
        read_data = Signal(8 * self._bus_bytes)
        for memory, port in self._ports():
            with m.If(region == memory):
                m.d.comb += read_data.eq(port.read_data)
        m.d.comb += [
            self.host.read_data.eq(read_data), self.host.answer.eq(read & ~whose),
            self.mover.read_data.eq(read_data), self.mover.answer.eq(read & whose),
        ]
