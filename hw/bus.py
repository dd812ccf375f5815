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
    """Connects the masters to the system ports, combinationally.

    Two masters share it, one request a cycle. It is the mover's; the host gets it in the cycle
    after it asks for it, and keeps it while it asks. Three have a way for reads and one
    for writes, each a request a cycle: so a core sends while it receives. On each of them they are
    served in turn, so that each waits for one request of each other at most: two of them can ask in
    every cycle. A request that a memory has seen and not accepted stays, as the rule of
    :class:`SystemPort` wants it.

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
        if len(masters) == len(MASTERS):
            choice = Signal(range(len(masters)), init=self._names.index("mover"))
            self._host_first(m, choice)
            read_choice = write_choice = choice
        else:
            read_choice, write_choice = (
                self._in_turn(m, masters, [master.valid & (master.write == write)
                                           for master in masters], name)
                for write, name in enumerate(("read", "write")))
        reads, reads_ready = self._way(m, masters, read_choice, "read")
        writes, writes_ready = self._way(m, masters, write_choice, "write")
        for index, master in enumerate(masters):
            m.d.comb += master.ready.eq(
                Mux(master.write, writes_ready & (write_choice == index),
                    reads_ready & (read_choice == index)))
        for region, port in self._ports():
            m.d.comb += [
                port.read.valid.eq(reads.valid & ~reads.write & (reads.region == region)),
                port.write.valid.eq(writes.valid & writes.write & (writes.region == region)),
                port.read.address.eq(reads.address), port.write.address.eq(writes.address),
                port.write.mask.eq(writes.mask), port.write.data.eq(writes.data),
            ]
        self._answer(m, reads.valid & ~reads.write & reads_ready, reads.region, masters,
                     read_choice)
        return m

    def _host_first(self, m, choice):
        """A register: whose request it is goes to all memories."""
        held = self.mover.valid & choice & ~self.mover.ready
        m.d.sync += choice.eq(held | ~self.host.valid)

    def _in_turn(self, m, masters, asks, name):
        """The choice of a way: the next after the one served last that asks; who was not accepted
        goes on."""
        choice = Signal(range(len(masters)), name=f"{name}_choice")
        last = Signal.like(choice, name=f"{name}_last")
        held = Signal(name=f"{name}_held")
        m.d.comb += choice.eq(last)
        with m.Switch(last):
            for index in range(len(masters)):
                with m.Case(index):
                    after = [(index + step) % len(masters) for step in range(len(masters), 0, -1)]
                    # The last assignment counts, so the next one comes last.
                    for other in after:
                        with m.If(asks[other] & ~held):
                            m.d.comb += choice.eq(other)
        served, waits = Signal(name=f"{name}_served"), Signal(name=f"{name}_waits")
        with m.Switch(choice):
            for index, master in enumerate(masters):
                with m.Case(index):
                    m.d.comb += [served.eq(asks[index] & master.ready),
                                 waits.eq(asks[index] & ~master.ready)]
        # A master that halts takes its request back.
        m.d.sync += held.eq(waits)
        with m.If(served | waits):
            m.d.sync += last.eq(choice)
        return choice

    def _way(self, m, masters, choice, name):
        """The request of the chosen master, and whether its memory would accept it on this way."""
        chosen = BusMaster(bus_bytes=self._bus_bytes).create(path=(name,))
        ready = Signal(name=f"{name}_ready")
        with m.Switch(choice):
            for index, master in enumerate(masters):
                with m.Case(index) if index + 1 < len(masters) else m.Default():
                    m.d.comb += [
                        chosen.valid.eq(master.valid), chosen.write.eq(master.write),
                        chosen.region.eq(master.region), chosen.address.eq(master.address),
                        chosen.mask.eq(master.mask), chosen.data.eq(master.data),
                    ]
        for region, port in self._ports():
            with m.If(chosen.region == region):
                m.d.comb += ready.eq(getattr(port, name).ready)
        return chosen, ready

    def _answer(self, m, read, region, masters, choice):
        """Follow each accepted read for its latency: which memory, which master."""
        whose = choice
        for stage in range(1, self._read_latency + 1):
            before = read, region, whose
            after = (Signal(name=f"read{stage}"), Signal(Region, name=f"region{stage}"),
                     Signal.like(choice, name=f"whose{stage}"))
            m.d.sync += [now.eq(then) for now, then in zip(after, before, strict=True)]
            read, region, whose = after
        read_data = Signal(8 * self._bus_bytes)
        for memory, port in self._ports():
            with m.If(region == memory):
                m.d.comb += read_data.eq(port.read.data)
        for index, each in enumerate(masters):
            m.d.comb += [each.read_data.eq(read_data), each.answer.eq(read & (whose == index))]
