"""The system bus of a core: host, mover and other cores reach the memories."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.config import MEMORIES, OFFSET_BITS, SYSTEM_READ_LATENCY, Region
from systolith.hw.interfaces import SystemPort

#: The masters of a core alone, the first served first, and of a core on a mesh.
MASTERS = ("host", "mover")
MESH_MASTERS = ("host", "remote", "mover")


class BusMaster(wiring.Signature):
    """One master's access to all memories, seen from the master.

    As :class:`SystemPort`, with the region, and with ``answer``: ``read_data`` is there,
    ``config.system_read_latency`` cycles after a read was accepted.
    """

    def __init__(self, *, bus_bytes):
        super().__init__({
            "valid": Out(1), "ready": In(1), "write": Out(1), "region": Out(Region),
            "address": Out(OFFSET_BITS), "mask": Out(bus_bytes), "data": Out(8 * bus_bytes),
            "answer": In(1), "read_data": In(8 * bus_bytes),
        })


class Bus(wiring.Component):
    """Connects the masters to the system ports, one request a cycle, combinationally.

    Of two masters, the host goes first. Three are served in turn, so that each waits for one
    request of each other at most: two of them can ask in every cycle. A request that a memory has
    seen and not accepted stays, as the rule of :class:`SystemPort` wants it.

    Parameters
    ----------
    bus_bytes : int
        Bytes of an access.
    masters : tuple of str
        ``MASTERS`` or ``MESH_MASTERS``.
    read_latency : int
        Cycles from an accepted read to its data, ``config.system_read_latency``.

    Members
    -------
    host, mover, remote : In(BusMaster)
        The masters; ``remote`` only where there is one.
    act, wgt, vec, const, row, acc : Out(SystemPort)
        The memories.
    """

    def __init__(self, *, bus_bytes, masters=MASTERS, read_latency=SYSTEM_READ_LATENCY):
        self._bus_bytes, self._names, self._read_latency = bus_bytes, masters, read_latency
        super().__init__({
            **{name: In(BusMaster(bus_bytes=bus_bytes)) for name in masters},
            **{region.name.lower(): Out(SystemPort(bus_bytes=bus_bytes)) for region in MEMORIES},
        })

    def _ports(self):
        return [(region, getattr(self, region.name.lower())) for region in MEMORIES]

    def elaborate(self, platform):
        m = Module()
        masters = [getattr(self, name) for name in self._names]
        choice = Signal(range(len(masters)))
        if len(masters) == len(MASTERS):
            self._host_first(m, choice)
        else:
            self._in_turn(m, choice, masters)
        master = BusMaster(bus_bytes=self._bus_bytes).create(path=("chosen",))
        with m.Switch(choice):
            for index, each in enumerate(masters):
                with m.Case(index) if index + 1 < len(masters) else m.Default():
                    self._choose(m, master, each)
        for region, port in self._ports():
            selected = master.region == region
            m.d.comb += [
                port.valid.eq(master.valid & selected), port.write.eq(master.write),
                port.address.eq(master.address), port.mask.eq(master.mask),
                port.data.eq(master.data),
            ]
            with m.If(selected):
                m.d.comb += master.ready.eq(port.ready)
        self._answer(m, master, masters, choice)
        return m

    def _host_first(self, m, choice):
        held = Signal()
        m.d.comb += choice.eq(Mux(held, 1, ~self.host.valid))
        m.d.sync += held.eq(self.mover.valid & choice & ~self.mover.ready)

    def _in_turn(self, m, choice, masters):
        """The next after the one served last that asks; who was not accepted goes on."""
        last, held = Signal(range(len(masters))), Signal()
        asks = Cat(master.valid for master in masters)
        m.d.comb += choice.eq(last)
        with m.Switch(last):
            for index in range(len(masters)):
                with m.Case(index):
                    after = [(index + step) % len(masters) for step in range(len(masters), 0, -1)]
                    # The last assignment counts, so the next one comes last.
                    for other in after:
                        with m.If(masters[other].valid & ~held):
                            m.d.comb += choice.eq(other)
        accepted = Cat(master.valid & master.ready for master in masters)
        m.d.sync += held.eq(asks.any() & ~accepted.any())
        with m.If(asks.any()):
            m.d.sync += last.eq(choice)

    def _choose(self, m, chosen, master):
        m.d.comb += [
            chosen.valid.eq(master.valid), chosen.write.eq(master.write),
            chosen.region.eq(master.region), chosen.address.eq(master.address),
            chosen.mask.eq(master.mask), chosen.data.eq(master.data),
            master.ready.eq(chosen.ready),
        ]

    def _answer(self, m, master, masters, choice):
        """Follow each accepted read for its latency: which memory, which master."""
        read, region, whose = master.valid & master.ready & ~master.write, master.region, choice
        for stage in range(1, self._read_latency + 1):
            before = read, region, whose
            after = (Signal(name=f"read{stage}"), Signal(Region, name=f"region{stage}"),
                     Signal.like(choice, name=f"whose{stage}"))
            m.d.sync += [now.eq(then) for now, then in zip(after, before, strict=True)]
            read, region, whose = after
        read_data = Signal(8 * self._bus_bytes)
        for memory, port in self._ports():
            with m.If(region == memory):
                m.d.comb += read_data.eq(port.read_data)
        for index, each in enumerate(masters):
            m.d.comb += [each.read_data.eq(read_data), each.answer.eq(read & (whose == index))]
