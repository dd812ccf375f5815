# amaranth: UnusedElaboratable=no
"""A router with one queue for each input: what :mod:`.test_router` proves, of the other kind."""
import pytest
from amaranth import *

from systolith.hw.mesh.packet import packet_layout, packet_width
from systolith.hw.mesh.route import TURNS, Port
from tests.formal.mesh.test_router import (
    CONFIG,
    ProgressProof,
    RouterProof,
    name_of,
    queues_of,
)
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, prove, refute
from tests.formal.queues import queue_lemmas

SHARED = CONFIG.replace(crosspoint=False)


class SharedRouterProof(RouterProof):
    """Follows one packet of an input, of which ``follow`` decides which it is.

    Before it in the queue are always exactly those accepted before it. Its copies leave once each,
    when it is the first; it leaves the queue with the last of them.

    Parameters
    ----------
    port : Port
        The input.
    """

    def __init__(self, port):
        super().__init__(port, SHARED)

    def _follow(self, m, inside, leaving):
        turns, i = TURNS[self._port], getattr(self, f"from_{name_of(self._port)}")
        packet, element = Signal(packet_layout(SHARED)), Signal(packet_width(SHARED))
        m.d.comb += packet.eq(i.payload)
        if self._port == Port.LOCAL:
            m.d.comb += [packet.source_x.eq(self.place.x), packet.source_y.eq(self.place.y)]
        wanted, outputs, due = (Signal(len(turns), name=name)
                                for name in ("wanted", "outputs", "due"))
        m.d.comb += wanted.eq(Cat(leaving[port] for port in turns))
        push = i.valid & i.ready & wanted.any()
        held, pop, consumed = self._count(m, inside, push)
        ahead, first = Signal(range(SHARED.queue_depth)), Signal()
        sent = self._sent(inside)
        m.d.comb += first.eq(due.any() & (ahead == 0))
        with m.If(push & self.follow & (due == 0)):
            m.d.sync += [due.eq(wanted), outputs.eq(wanted), element.eq(packet),
                         ahead.eq(held - pop)]
        with m.Elif(first):
            m.d.sync += due.eq(due & ~sent)
        with m.Elif(pop):
            m.d.sync += ahead.eq(ahead - 1)
        self._position(m, inside, (ahead, held, pop, consumed), due, outputs, element)
        self._copies(m, first, sent, due, element)

    def _count(self, m, inside, push):
        """What the queue holds, whether it loses its first element, and the place of that one."""
        path = f"{name_of(self._port)}_fork", "queue"
        pop = inside.signal(*path, "o__valid") & inside.signal(*path, "o__ready")
        held = Signal(range(SHARED.queue_depth + 1))
        m.d.sync += held.eq(held + push - pop)
        m.d.comb += [holds(held == inside.signal(*path, "level")),
                     holds(implies(held == 0, inside.signal(path[0], "left") == 0))]
        return held, pop, inside.signal(*path, "consumed")

    def _sent(self, inside):
        """The outputs that a copy leaves for in this cycle."""
        fork = f"{name_of(self._port)}_fork"
        return Cat(inside.signal(fork, f"{name_of(port)}__valid")
                   & inside.signal(fork, f"{name_of(port)}__ready") for port in TURNS[self._port])

    def _position(self, m, inside, where, due, outputs, element):
        """While copies are due, the packet is in its place, with the outputs that it has."""
        ahead, held, pop, consumed = where
        fork = f"{name_of(self._port)}_fork"
        word = inside.word(fork, "queue", "words", address=(consumed + ahead)[:len(consumed) - 1])
        left = inside.signal(fork, "left")
        with m.If(due.any()):
            m.d.comb += [
                holds(ahead < held), holds(word == Cat(outputs, element)),
                holds((due & ~outputs) == 0),
                holds(implies(ahead != 0, due == outputs)),
                holds(implies(ahead == 0, left == outputs & ~due)),
                holds(implies(ahead == 0, pop == ((due & ~self._sent(inside)) == 0))),
            ]

    def _copies(self, m, first, sent, due, element):
        """A copy leaves the router unchanged, and only where it is due."""
        with m.If(first):
            m.d.comb += holds((sent & ~due) == 0)
            for index, port in enumerate(TURNS[self._port]):
                output = getattr(self._router, f"to_{name_of(port)}")
                m.d.comb += holds(implies(sent[index], output.valid & output.ready
                                          & (Value.cast(output.payload) == element)))

    def _offers(self, m, inside, port):
        forks = [f"{name_of(source)}_fork" for source in Port if port in TURNS[source]]
        for fork in forks:
            queue_lemmas(m, inside, fork, "queue", depth=SHARED.queue_depth)
        return (Cat(inside.signal(fork, f"{name_of(port)}__{name}") for fork in forks)
                for name in ("valid", "ready"))


class SharedProgressProof(ProgressProof):
    """While such a mesh whose nodes accept everything holds a packet, a copy moves."""

    def _lemmas(self, m, inside):
        """All that is in a queue still has a copy to send."""
        for _, router, _ in inside.part().subfragments:
            for fork, queue in queues_of(inside.part(router)):
                self._due(m, inside, inside.signal(router, fork, "left"), (router, fork, queue))

    def _due(self, m, inside, left, path):
        held, consumed = inside.signal(*path, "level"), inside.signal(*path, "consumed")
        m.d.comb += holds(implies(held == 0, left == 0))
        for index in range(SHARED.queue_depth):
            word = inside.word(*path, "words", address=(consumed + index)[:len(consumed) - 1])
            outputs = word[:len(left)]
            m.d.comb += holds(implies(held > index, outputs & ~left if index == 0 else outputs))


@pytest.mark.parametrize("port", Port, ids=name_of)
def test_router(port):
    prove(SharedRouterProof(port), f"shared_router_{name_of(port)}", depth=2)


@pytest.mark.parametrize("side", [2, 3])
def test_a_mesh_moves_on(side):
    prove(SharedProgressProof(SHARED.replace(width=side, height=side)),
          f"shared_mesh_progress_{side}", depth=2)


def test_a_mesh_that_gets_stuck_is_found(monkeypatch):
    """A packet that has left for one of its nodes is kept from all others."""
    break_design(monkeypatch, "mesh.fork", "queue.o.p.outputs[index] & ~left[index]",
                 "queue.o.p.outputs[index] & (left == 0)")
    refute(SharedProgressProof(SHARED.replace(width=2, height=2)), "shared_progress_broken",
           depth=6)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("copies_unasked", "queue.o.valid & queue.o.p.outputs[index] & ~left[index]",
     "queue.o.valid & ~left[index]"),
    ("leaves_too_early", "queue.o.p.outputs & ~left & ~leaves) == 0",
     "queue.o.p.outputs & ~left & ~leaves) != queue.o.p.outputs"),
    ("forgets_who_left", "Mux(queue.o.ready, 0, left | leaves)", "0"),
    ("takes_without_room", "~enter | queue.i.ready", "~enter | 1"),
])
def test_a_broken_router_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "mesh.fork", old, new)
    refute(SharedRouterProof(Port.LOCAL), f"shared_router_{name}", depth=6)
