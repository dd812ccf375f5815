"""Keeps packets that no node would receive out of the mesh."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.mesh.packet import in_mesh, packet_layout, target_layout
from systolith.hw.mesh.route import Place

#: Bits of the number of dropped packets, which stays at its largest value.
DROPPED_BITS = 16


class Guard(wiring.Component):
    """Passes on what a node sends, with its source, and drops what goes beyond the mesh.

    A target is in order when its first coordinates are not above its last, and the last are those
    of a node. A packet that is dropped is accepted at once, so it holds nothing up. No delay.

    Parameters
    ----------
    config : MeshConfig
        Sizes of the mesh.

    Members
    -------
    place : In(Place)
        Of the node.
    i : In(stream)
        Packets of the node.
    o : Out(stream)
        Those that are in order.
    dropped : Out(16)
        The number of the others, since the reset; it does not go beyond 65,535.
    fault : Out(target_layout())
        Target of the packet that was dropped last.
    """

    def __init__(self, *, config):
        self._config = config
        packet = stream.Signature(packet_layout(config))
        super().__init__({"place": In(Place()), "i": In(packet), "o": Out(packet),
                          "dropped": Out(DROPPED_BITS), "fault": Out(target_layout())})

    def elaborate(self, platform):
        m = Module()
        target = self.i.p.target
        good = Signal()
        m.d.comb += [
            good.eq(in_mesh(target, self._config)),
            self.o.valid.eq(self.i.valid & good),
            self.o.payload.eq(self.i.payload),
            self.o.p.source_x.eq(self.place.x), self.o.p.source_y.eq(self.place.y),
            self.i.ready.eq(self.o.ready | ~good),
        ]
        with m.If(self.i.valid & ~good):
            m.d.sync += [self.fault.eq(target), self.dropped.eq(self.dropped + ~self.dropped.all())]
        return m
