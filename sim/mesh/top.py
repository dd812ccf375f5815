"""A mesh with two ports a node, the same for every width of data."""
from amaranth import Cat, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.mesh import Mesh
from systolith.hw.mesh.packet import packet_layout

#: Name of the top module.
TOP = "meshtop"

#: Bits of a node in each of the ports, and of the tag by which packets are told from each other.
SLOT, TAG = 128, 32

#: Where in the slot of a node the tag is, in both directions.
TAG_AT = 32


class MeshTop(wiring.Component):
    """Each node sends and receives packets that are filled according to a tag of 32 bits.

    Parameters
    ----------
    config : MeshConfig
        Sizes.

    Members
    -------
    send0, send1, ... : In(128)
        Of each node: target in bits 0 to 15, tag in bits 32 to 63, ``valid`` of what it sends in
        bit 64, ``ready`` for what it receives in bit 65.
    receive0, receive1, ... : Out(128)
        Of each node: ``ready`` for what it sends in bit 0, ``valid`` of what it receives in bit 1;
        in bit 2 whether that is all as the tag says; :attr:`Mesh.moved` in bits 3 to 7, the
        coordinates of the source in bits 8 to 15, tag in bits 32 to 63,
        :attr:`Mesh.dropped` in bits 64 to 79.
    """

    def __init__(self, *, config: MeshConfig):
        self._config = config
        super().__init__({f"{name}{node}": flow(SLOT) for node in range(config.nodes)
                          for name, flow in (("send", In), ("receive", Out))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.mesh = mesh = Mesh(config=self._config)
        for node in range(self._config.nodes):
            y, x = divmod(node, self._config.width)
            send, receive = (getattr(self, f"{name}{node}") for name in ("send", "receive"))
            i, o, tag = mesh.i[y][x], mesh.o[y][x], send[TAG_AT:][:TAG]
            arrived = Value.cast(o.p.data)[:TAG]
            good = Cat(Value.cast(getattr(o.p, name)) == value
                       for name, value in self._content(arrived).items()).all()
            m.d.comb += [
                i.p.target.eq(send[:16]), i.valid.eq(send[64]), o.ready.eq(send[65]),
                *(Value.cast(getattr(i.p, name)).eq(value)
                  for name, value in self._content(tag).items()),
                receive[:16].eq(Cat(i.ready, o.valid, good, mesh.moved[y][x], o.p.source_x,
                                    o.p.source_y)),
                receive[TAG_AT:][:TAG].eq(arrived),
                receive[64:80].eq(mesh.dropped[y][x]),
            ]
        return m

    def _content(self, tag):
        """All that is in a packet beside target and source."""
        layout = packet_layout(self._config)
        words = self._config.bus_bytes * 8 // TAG
        return {
            "kind": tag[0], "region": tag[:3], "address": tag[:layout["address"].width],
            "mask": tag[:self._config.bus_bytes], "data": Cat(tag ^ word for word in range(words)),
        }
