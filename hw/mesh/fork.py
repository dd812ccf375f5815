"""The queues behind an input of a router."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.mesh.packet import packet_layout, packet_width
from systolith.hw.mesh.route import Place, outputs
from systolith.hw.queue import Queue


class Fork(wiring.Component):
    """Brings the packets of an input to all outputs where they leave.

    A packet is accepted in a cycle in which all the queues that it enters have room. From there,
    its copies leave independently. One packet a cycle, one cycle of latency.

    Parameters
    ----------
    config : MeshConfig
        Sizes; ``crosspoint`` tells whether each output has a queue of its own.
    ports : sequence of Port
        The outputs that are reached.

    Members
    -------
    place : In(Place)
        Of the router.
    i : In(stream)
        Packets. One that leaves nowhere is accepted and lost.
    local, north, east, south, west : Out(stream)
        What leaves there, as bits; those among ``ports`` only.
    """

    def __init__(self, *, config, ports):
        self._config, self._ports, self._width = config, tuple(ports), packet_width(config)
        super().__init__({
            "place": In(Place()), "i": In(stream.Signature(packet_layout(config))),
            **{port.name.lower(): Out(stream.Signature(self._width)) for port in self._ports},
        })

    def elaborate(self, platform):
        m = Module()
        wanted = outputs(self.i.p.target, self.place)
        queues = self._crosspoint(m, wanted) if self._config.crosspoint else self._shared(m, wanted)
        m.d.comb += self.i.ready.eq(Cat(~enter | queue.i.ready for enter, queue in queues).all())
        for enter, queue in queues:
            m.d.comb += queue.i.valid.eq(self.i.valid & self.i.ready & enter)
        return m

    def _queue(self, shape):
        return Queue(shape=shape, depth=self._config.queue_depth, distributed=True)

    def _crosspoint(self, m, wanted):
        """A queue for each output; pairs of whether the packet enters, and the queue."""
        queues = []
        for port in self._ports:
            name = port.name.lower()
            queue = self._queue(self._width)
            m.submodules[f"{name}_queue"] = queue
            m.d.comb += queue.i.payload.eq(self.i.payload)
            connect(m, queue.o, flipped(getattr(self, name)))
            queues.append((wanted[port], queue))
        return queues

    def _shared(self, m, wanted):
        """One queue, which a packet leaves with its last copy."""
        count = len(self._ports)
        layout = data.StructLayout({"outputs": count, "packet": self._width})
        m.submodules.queue = queue = self._queue(layout)
        enters, left, leaves = (Signal(count, name=name) for name in ("enters", "left", "leaves"))
        m.d.comb += [enters.eq(Cat(wanted[port] for port in self._ports)),
                     queue.i.p.outputs.eq(enters), queue.i.p.packet.eq(self.i.payload)]
        for index, port in enumerate(self._ports):
            o = getattr(self, port.name.lower())
            m.d.comb += [
                o.valid.eq(queue.o.valid & queue.o.p.outputs[index] & ~left[index]),
                o.payload.eq(queue.o.p.packet), leaves[index].eq(o.valid & o.ready),
            ]
        m.d.comb += queue.o.ready.eq((queue.o.p.outputs & ~left & ~leaves) == 0)
        m.d.sync += left.eq(Mux(queue.o.ready, 0, left | leaves))
        return [(enters.any(), queue)]
