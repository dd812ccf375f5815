# amaranth: UnusedElaboratable=no
"""A router neither loses, doubles, misroutes nor reorders packets, and the mesh always moves on."""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.mesh import Mesh
from systolith.hw.mesh.packet import packet_layout, packet_width
from systolith.hw.mesh.route import TURNS, Port
from systolith.hw.mesh.router import Router
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import constant, given, holds, implies, prove, refute
from tests.formal.queues import queue_lemmas

CONFIG = MeshConfig(width=3, height=3, bus_bytes=4, queue_depth=2)


def name_of(port):
    return port.name.lower()


class RouterProof(wiring.Component):
    """Follows one packet of an input, of which ``follow`` decides which it is.

    Between it and each output where it leaves are always exactly those accepted before it at the
    same input. All inputs, all readiness of the outputs and the place of the router are free.

    Parameters
    ----------
    port : Port
        The input.
    config : MeshConfig
        Sizes.
    """

    def __init__(self, port, config=CONFIG):
        self._port, self._router = port, Router(config=config)
        members = {name: member for name, member in self._router.signature.members.items()
                   if name == "place" or name.startswith("from_")}
        super().__init__(members | {"take": In(len(Port)), "follow": In(1)})

    def elaborate(self, platform):
        m = Module()
        router, inside = self._router, Inside(self._router)
        m.submodules.router = inside.fragment
        for name in self.signature.members:
            if name == "place" or name.startswith("from_"):
                connect(m, flipped(getattr(self, name)), getattr(router, name))
        x, y = constant(m, self.place.x), constant(m, self.place.y)
        m.d.comb += given((x < CONFIG.width) & (y < CONFIG.height))
        for port in Port:
            m.d.comb += getattr(router, f"to_{name_of(port)}").ready.eq(self.take[port])
        self._follow(m, inside, self._leaving(m, x, y))
        self._outputs(m, inside)
        return m

    def _leaving(self, m, x, y):
        """The outputs where the packet at the input leaves: those that lead to one of its nodes.

        It goes towards a node in its row until the column is right, and only then in the column.
        """
        i = getattr(self, f"from_{name_of(self._port)}")
        target, ways = i.p.target, dict.fromkeys(Port, Const(0))
        for node_x in range(CONFIG.width):
            for node_y in range(CONFIG.height):
                among = ((target.x_first <= node_x) & (node_x <= target.x_last)
                         & (target.y_first <= node_y) & (node_y <= target.y_last))
                steps = {Port.EAST: node_x > x, Port.WEST: node_x < x,
                         Port.SOUTH: (node_x == x) & (node_y > y),
                         Port.NORTH: (node_x == x) & (node_y < y),
                         Port.LOCAL: (node_x == x) & (node_y == y)}
                ways = {port: ways[port] | among & steps[port] for port in Port}
        inside_mesh = ((target.x_last < CONFIG.width) & (target.y_last < CONFIG.height)
                       & (target.x_first <= target.x_last) & (target.y_first <= target.y_last))
        if self._port != Port.LOCAL:
            # The router where it was sent let nothing else pass.
            m.d.comb += given(implies(i.valid, inside_mesh))
            return ways
        m.d.comb += holds(implies(~inside_mesh, i.ready))
        return {port: way & inside_mesh for port, way in ways.items()}

    def _follow(self, m, inside, leaving):
        i = getattr(self, f"from_{name_of(self._port)}")
        packet = Signal(packet_layout(CONFIG))
        m.d.comb += packet.eq(i.payload)
        if self._port == Port.LOCAL:
            m.d.comb += [packet.source_x.eq(self.place.x), packet.source_y.eq(self.place.y)]
        accepted, element = i.valid & i.ready, Signal(packet_width(CONFIG))
        following = Signal(len(Port))
        start = accepted & self.follow & (following == 0)
        with m.If(start):
            m.d.sync += element.eq(packet)
        for port in TURNS[self._port]:
            self._queue(m, inside, port, accepted & leaving[port], start & leaving[port],
                        following[port], element)

    def _queue(self, m, inside, port, push, start, following, element):
        """The queue between the input and one output."""
        path = f"{name_of(self._port)}_fork", f"{name_of(port)}_queue"
        consumed = inside.signal(*path, "consumed")
        pop = inside.signal(*path, "o__valid") & inside.signal(*path, "o__ready")
        held = Signal(range(CONFIG.queue_depth + 1), name=f"held_{name_of(port)}")
        ahead = Signal(range(CONFIG.queue_depth), name=f"ahead_{name_of(port)}")
        m.d.sync += held.eq(held + push - pop)
        m.d.comb += holds(held == inside.signal(*path, "level"))
        with m.If(start):
            m.d.sync += [following.eq(1), ahead.eq(held - pop)]
        with m.Elif(following & pop):
            m.d.sync += [following.eq(ahead != 0), ahead.eq(ahead - 1)]
        word = inside.word(*path, "words", address=(consumed + ahead)[:len(consumed) - 1])
        output = getattr(self._router, f"to_{name_of(port)}")
        with m.If(following):
            m.d.comb += [
                holds(ahead < held), holds(word == element),
                holds(implies(pop & (ahead == 0), output.valid & output.ready
                              & (Value.cast(output.payload) == element))),
            ]

    def _outputs(self, m, inside):
        """What leaves has left exactly one queue."""
        for port in Port:
            valid, ready = self._offers(m, inside, port)
            output = getattr(self._router, f"to_{name_of(port)}")
            last, held = (inside.signal(f"{name_of(port)}_merge", name)
                          for name in ("last", "held"))
            m.d.comb += [
                holds(((valid & ready) & ((valid & ready) - 1))[:len(valid)] == 0),
                holds((valid & ready).any() == (output.valid & output.ready)),
                # What is on offer is there.
                holds((last & (last - 1))[:len(last)] == 0), holds(implies(held, last & valid)),
            ]

    def _offers(self, m, inside, port):
        """``valid`` and ``ready`` of all that leads to an output."""
        paths = [(f"{name_of(source)}_fork", f"{name_of(port)}_queue")
                 for source in Port if port in TURNS[source]]
        for path in paths:
            queue_lemmas(m, inside, *path, depth=CONFIG.queue_depth)
        return (Cat(inside.signal(*path, f"o__{name}") for path in paths)
                for name in ("valid", "ready"))


class ProgressProof(wiring.Component):
    """While a mesh whose nodes accept everything holds a packet, one moves, in every cycle.

    Parameters
    ----------
    config : MeshConfig
        Sizes.
    """

    def __init__(self, config):
        self._mesh = Mesh(config=config)
        super().__init__({"i": self._mesh.signature.members["i"]})

    def elaborate(self, platform):
        m = Module()
        mesh, inside = self._mesh, Inside(self._mesh)
        m.submodules.mesh = inside.fragment
        self._lemmas(m, inside)
        holding = []
        for y, row in enumerate(mesh.i):
            for x, port in enumerate(row):
                connect(m, flipped(self.i[y][x]), port)
                m.d.comb += mesh.o[y][x].ready.eq(1)
                router = f"router_{x}_{y}"
                for fork, queue in queues_of(inside.part(router)):
                    queue_lemmas(m, inside, router, fork, queue, depth=CONFIG.queue_depth)
                    holding.append(inside.signal(router, fork, queue, "o__valid"))
        moved = Cat(mesh.moved[y][x] for y, row in enumerate(mesh.i) for x in range(len(row)))
        m.d.comb += holds(implies(Cat(holding), moved))
        return m

    def _lemmas(self, m, inside):
        """What induction must know besides: nothing, where each copy has a queue of its own."""


def queues_of(router):
    """Names of the forks of a router, each with its queues."""
    for fork, name, _ in router.subfragments:
        if name.endswith("_fork"):
            yield from ((name, queue) for _, queue, _ in fork.subfragments)


@pytest.mark.parametrize("port", Port, ids=name_of)
def test_router(port):
    prove(RouterProof(port), f"router_{name_of(port)}", depth=2)


@pytest.mark.parametrize("side", [2, 3])
def test_a_mesh_moves_on(side):
    prove(ProgressProof(CONFIG.replace(width=side, height=side)), f"mesh_progress_{side}", depth=2)


@pytest.mark.parametrize(("name", "port", "module", "old", "new"), [
    ("takes_without_room", Port.LOCAL, "fork", "~enter | queue.i.ready", "~enter | 1"),
    ("enters_some_queues_early", Port.LOCAL, "fork", "self.i.valid & self.i.ready & enter",
     "self.i.valid & enter"),
    ("turns_too_late", Port.LOCAL, "route", "target.x_last > place.x", "target.x_last >= place.x"),
    ("misses_the_last_row", Port.WEST, "route", "(place.y <= target.y_last)",
     "(place.y < target.y_last)"),
    ("forgets_the_source", Port.LOCAL, "guard", "self.o.p.source_y.eq(self.place.y)",
     "self.o.p.source_y.eq(self.place.x)"),
    ("lets_stray_packets_in", Port.LOCAL, "guard", "self.i.valid & good", "self.i.valid"),
])
def test_a_broken_router_is_found(name, port, module, old, new, monkeypatch):
    break_design(monkeypatch, f"mesh.{module}", old, new)
    refute(RouterProof(port), f"router_{name}", depth=6)


def test_a_mesh_that_gets_stuck_is_found(monkeypatch):
    """Here, only nodes can bring a packet into a router, no neighbours."""
    break_design(monkeypatch, "mesh.fork", "~enter | queue.i.ready",
                 "~enter | (queue.i.ready & (self._ports[0] != 0))")
    refute(ProgressProof(CONFIG.replace(width=2, height=2)), "mesh_progress_broken", depth=6)
