"""What joins the cores of a chip: the mesh, the host's port, the port to external memory."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.core import chip_ports, core_ports
from systolith.hw.external_merge import ExternalMerge
from systolith.hw.host_router import HostRouter
from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.mesh import Mesh


class Uncore(wiring.Component):
    """All of a chip but its cores.

    What a core gives depends on its registers only, so there is no path of logic from the uncore
    through a core and back.

    Parameters
    ----------
    config : Config
        All sizes, of more than one core.

    Members
    -------
    host_request, host_response, ext_request, ext_write, ext_read
        Those of the chip, as of a core.
    cores : In(signature of a core).array(config.cores)
        The cores, by number.
    busy : Out(1)
        A packet is in the mesh.
    """

    def __init__(self, *, config):
        super().__init__({**chip_ports(config), "busy": Out(1), "cores": In(
            wiring.Signature(core_ports(config))).array(config.cores)})
        self._config = config

    def elaborate(self, platform):
        m = Module()
        self._host(m)
        self._external(m)
        self._mesh(m)
        return m

    def _host(self, m):
        m.submodules.host = host = HostRouter(cores=self._config.cores)
        connect(m, flipped(self.host_request), host.request)
        connect(m, host.response, flipped(self.host_response))
        for core, request, response in zip(self.cores, host.requests, host.responses, strict=True):
            connect(m, request, flipped(core.host_request))
            connect(m, flipped(core.host_response), response)

    def _external(self, m):
        m.submodules.external = external = ExternalMerge(bus_bytes=self._config.bus_bytes,
                                                         count=self._config.cores)
        for core, user in zip(self.cores, external.users, strict=True):
            connect(m, flipped(core.ext_request), user.request)
            connect(m, flipped(core.ext_write), user.write)
            connect(m, user.read, flipped(core.ext_read))
        connect(m, external.memory.request, flipped(self.ext_request))
        connect(m, external.memory.write, flipped(self.ext_write))
        connect(m, flipped(self.ext_read), external.memory.read)

    def _mesh(self, m):
        m.submodules.mesh = mesh = Mesh(config=MeshConfig.of(self._config))
        moves = []
        for number, core in enumerate(self.cores):
            y, x = divmod(number, self._config.mesh_width)
            connect(m, flipped(core.packet_out), mesh.i[y][x])
            connect(m, mesh.o[y][x], flipped(core.packet_in))
            m.d.comb += [core.place.x.eq(x), core.place.y.eq(y),
                         core.dropped.eq(mesh.dropped[y][x])]
            moves += [mesh.moved[y][x].any(), mesh.o[y][x].valid]
        # What is in the mesh moves, or waits for the core that is to take it.
        m.d.comb += self.busy.eq(Cat(moves).any())
