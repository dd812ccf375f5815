"""A router: one node of the mesh."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.mesh.fork import Fork
from systolith.hw.mesh.guard import DROPPED_BITS, Guard
from systolith.hw.mesh.merge import Merge
from systolith.hw.mesh.packet import packet_layout, packet_width, target_layout
from systolith.hw.mesh.route import TURNS, Place, Port


class Router(wiring.Component):
    """Five ports; each link moves a packet a cycle, each hop of an idle mesh takes one cycle.

    A packet that is accepted in one cycle is on offer at its outputs in the next. ``ready`` of an
    input depends on registers and on the packet at this input, not on ``ready`` of any output: so
    no path of logic is longer than one link and back.

    Parameters
    ----------
    config : MeshConfig
        Sizes.
    ports : sequence of Port
        Those that exist; at the edges of the mesh, some are not there.

    Members
    -------
    place : In(Place)
        Coordinates of the node.
    from_local, from_north, ... : In(stream)
        Packets of the node and of its neighbours.
    to_local, to_north, ... : Out(stream)
        Packets to the node and to its neighbours.
    moved : Out(5)
        Bit p: a packet leaves at port p.
    dropped : Out(16), fault : Out(target_layout())
        Packets of the node that went beyond the mesh, see :class:`Guard`.
    """

    def __init__(self, *, config, ports=tuple(Port)):
        self._config = config
        self._ports = tuple(port for port in Port if port in ports or port == Port.LOCAL)
        packet = stream.Signature(packet_layout(config))
        super().__init__({
            "place": In(Place()), "moved": Out(len(Port)), "dropped": Out(DROPPED_BITS),
            "fault": Out(target_layout()),
            **{f"from_{port.name.lower()}": In(packet) for port in self._ports},
            **{f"to_{port.name.lower()}": Out(packet) for port in self._ports},
        })

    def elaborate(self, platform):
        m = Module()
        forks = {port: self._input(m, port) for port in self._ports}
        for port in self._ports:
            self._output(m, port, {source: fork for source, fork in forks.items()
                                   if port in TURNS[source]})
        self._guard(m, forks[Port.LOCAL])
        return m

    def _input(self, m, port):
        name = port.name.lower()
        fork = Fork(config=self._config, ports=[p for p in TURNS[port] if p in self._ports])
        m.submodules[f"{name}_fork"] = fork
        connect(m, fork.place, flipped(self.place))
        if port != Port.LOCAL:
            connect(m, flipped(getattr(self, f"from_{name}")), fork.i)
        return fork

    def _output(self, m, port, forks):
        name = port.name.lower()
        merge = Merge(width=packet_width(self._config), count=len(forks))
        m.submodules[f"{name}_merge"] = merge
        for fork, i in zip(forks.values(), merge.i, strict=True):
            connect(m, getattr(fork, name), i)
        o = getattr(self, f"to_{name}")
        connect(m, merge.o, flipped(o))
        m.d.comb += self.moved[port].eq(o.valid & o.ready)

    def _guard(self, m, fork):
        m.submodules.guard = guard = Guard(config=self._config)
        connect(m, guard.place, flipped(self.place))
        connect(m, flipped(self.from_local), guard.i)
        connect(m, guard.o, fork.i)
        m.d.comb += [self.dropped.eq(guard.dropped), self.fault.eq(guard.fault)]
