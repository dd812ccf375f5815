"""The mesh: wires a rectangle of routers."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.config import ConfigError
from systolith.hw.mesh.config import COORDINATE_BITS
from systolith.hw.mesh.guard import DROPPED_BITS
from systolith.hw.mesh.packet import packet_layout, target_layout
from systolith.hw.mesh.route import OPPOSITE, STEPS, Port
from systolith.hw.mesh.router import Router


class Mesh(wiring.Component):
    """Routers, each with its node's port. Indices are ``[y][x]``.

    Packets from one node to another arrive in the order in which they were sent. A packet that
    crosses ``h`` links of an idle mesh is on offer ``h + 1`` cycles after it was accepted. All that
    was accepted arrives, as long as the nodes accept what arrives. A node that is among the targets
    of its own packet does not get it.

    Parameters
    ----------
    config : MeshConfig
        Sizes; at least two nodes.

    Members
    -------
    i : In(stream).array(height, width)
        What each node sends.
    o : Out(stream).array(height, width)
        What it receives.
    moved : Out(5).array(height, width)
        See :class:`Router`.
    dropped, fault : Out.array(height, width)
        Packets that went beyond the mesh, see :class:`Guard`.

    Raises
    ------
    ConfigError
        When there is but one node, which nobody sends anything.
    """

    def __init__(self, *, config):
        if config.nodes == 1:
            raise ConfigError("a mesh needs at least 2 nodes, not 1x1")
        self._config = config
        packet, size = stream.Signature(packet_layout(config)), (config.height, config.width)
        super().__init__({
            "i": In(packet).array(*size), "o": Out(packet).array(*size),
            "moved": Out(len(Port)).array(*size), "dropped": Out(DROPPED_BITS).array(*size),
            "fault": Out(target_layout()).array(*size),
        })

    def elaborate(self, platform):
        m = Module()
        places = [(x, y) for y in range(self._config.height) for x in range(self._config.width)]
        routers = {place: self._router(m, *place, places) for place in places}
        for (x, y), router in routers.items():
            for port, (dx, dy) in STEPS.items():
                if (x + dx, y + dy) in routers:
                    neighbour = routers[x + dx, y + dy]
                    connect(m, getattr(router, f"to_{port.name.lower()}"),
                            getattr(neighbour, f"from_{OPPOSITE[port].name.lower()}"))
        return m

    def _router(self, m, x, y, places):
        ports = [port for port, (dx, dy) in STEPS.items() if (x + dx, y + dy) in places]
        router = Router(config=self._config, ports=ports)
        m.submodules[f"router_{x}_{y}"] = router
        m.d.comb += [
            router.place.x.eq(_opaque(x)), router.place.y.eq(_opaque(y)),
            self.moved[y][x].eq(router.moved), self.dropped[y][x].eq(router.dropped),
            self.fault[y][x].eq(router.fault),
        ]
        connect(m, flipped(self.i[y][x]), router.from_local)
        connect(m, router.to_local, flipped(self.o[y][x]))
        return router


def _opaque(coordinate):
    """A coordinate as an operation: a plain constant would be written into the router, and no two
    routers would be equal."""
    return Const(coordinate, COORDINATE_BITS) | Const(0, COORDINATE_BITS)
