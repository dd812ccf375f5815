"""The network interface: joins the mover, the memories and the semaphores of a core to the mesh."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from systolith.hw.bus import BusMaster
from systolith.hw.config import OFFSET_BITS, Region
from systolith.hw.mesh.packet import Kind, packet_layout, target_layout
from systolith.hw.queue import Queue
from systolith.hw.semaphores import MASK_BITS

#: Bits of the number of packets that a reset swallowed, which stays at its largest value.
SWALLOWED_BITS = 16

#: Packets that have come and not been executed. With 2, one a cycle can come.
ARRIVED = 2


def remote_layout():
    """Where the beats of a send go: memory and nodes, the semaphores that are signalled after the
    last of them, and ``notify``, whether those signals are all there is."""
    return data.StructLayout({"region": Region, "target": target_layout(), "signal": MASK_BITS,
                              "notify": 1})


class RemoteBeat(data.StructLayout):
    """A beat for other cores. ``last``: it ends its command, so the signals follow."""

    def __init__(self, *, bus_bytes):
        super().__init__({"remote": remote_layout(), "address": OFFSET_BITS, "last": 1,
                          "data": 8 * bus_bytes})


class NetworkInterface(wiring.Component):
    """Makes packets of beats, and executes the packets that come, in order.

    A beat becomes a write packet in the same cycle; a last one with signals, a signal packet more,
    in the next. What comes is executed a cycle later at the earliest: a write when its memory
    accepts it, a signal at once. So data that were sent before a signal are there when it counts.

    Whether a packet is accepted depends on registers only. While ``reset`` is set, packets are
    swallowed; otherwise they are accepted and executed, also when the core has stopped.

    Parameters
    ----------
    config : MeshConfig
        Sizes.

    Members
    -------
    beat : In(stream of RemoteBeat)
        What is sent. A beat is accepted with its last packet.
    o, i : Out(stream), In(stream)
        Packets to and from the mesh.
    bus : Out(BusMaster)
        Writes to the memories.
    signal : Out(16)
        Semaphores that are incremented.
    reset : In(1)
        The core is being reset.
    swallowed : Out(16)
        Packets that were swallowed; the number does not go beyond 65,535.
    """

    def __init__(self, *, config):
        self._config = config
        packet = stream.Signature(packet_layout(config))
        super().__init__({
            "beat": In(stream.Signature(RemoteBeat(bus_bytes=config.bus_bytes))),
            "o": Out(packet), "i": In(packet), "bus": Out(BusMaster(bus_bytes=config.bus_bytes)),
            "signal": Out(MASK_BITS), "reset": In(1), "swallowed": Out(SWALLOWED_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        self._send(m)
        self._receive(m)
        return m

    def _send(self, m):
        beat, o, remote = self.beat, self.o, self.beat.p.remote
        signalling = Signal()  # the data have gone, the signals are next
        signals = Signal()
        m.d.comb += [
            signals.eq(remote.notify | signalling),
            beat.ready.eq(o.ready & (signals | ~(beat.p.last & remote.signal.any()))),
            o.valid.eq(beat.valid), o.p.target.eq(remote.target), o.p.region.eq(remote.region),
            o.p.address.eq(beat.p.address), o.p.mask.eq(~0),
            o.p.kind.eq(Mux(signals, Kind.SIGNAL, Kind.WRITE)),
            o.p.data.eq(Mux(signals, remote.signal, beat.p.data)),
        ]
        with m.If(self.reset):
            m.d.sync += signalling.eq(0)
        with m.Elif(o.valid & o.ready):
            m.d.sync += signalling.eq(~beat.ready)

    def _receive(self, m):
        layout = packet_layout(self._config)
        m.submodules.arrived = arrived = Queue(shape=layout, depth=ARRIVED, distributed=True)
        packet = arrived.o.p
        write = Signal()
        done = Signal()
        connect(m, wiring.flipped(self.i), arrived.i)
        m.d.comb += [
            write.eq(packet.kind == Kind.WRITE),
            self.bus.valid.eq(arrived.o.valid & write), self.bus.write.eq(1),
            self.bus.region.eq(packet.region), self.bus.address.eq(packet.address),
            self.bus.mask.eq(packet.mask), self.bus.data.eq(packet.data),
            done.eq(~write | self.bus.ready), arrived.o.ready.eq(done | self.reset),
        ]
        with m.If(arrived.o.valid & ~write & ~self.reset):
            m.d.comb += self.signal.eq(packet.data)
        with m.If(arrived.o.valid & self.reset):
            m.d.sync += self.swallowed.eq(self.swallowed + ~self.swallowed.all())
