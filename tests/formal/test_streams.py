"""Every stream of the hardware keeps its payload while it is stalled.

The streams are found by walking the signatures of all components. A component that sends and is
not in the table below fails :func:`test_every_sender_is_proven`.
"""
import pytest
from amaranth import *

from systolith.hw.config import Region
from systolith.hw.isa import ENGINES
from systolith.hw.mover import BEATS_IN_FLIGHT
from tests.formal.components import MESH, component_classes, create
from tests.formal.mutant import break_design
from tests.formal.prove import constant, given, holds, implies, past, prove, refute
from tests.formal.streams import StreamProof, handshakes

# Components are also made for the sake of their signatures alone.
pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


def queue_lemmas(m, inside, *path, depth):
    """At most ``depth`` elements, and a valid output means that there is one."""
    level, valid = inside.signal(*path, "level"), inside.signal(*path, "o__valid")
    m.d.comb += [holds(level <= depth), holds(implies(valid, level != 0))]


def queue(m, component, inside):
    queue_lemmas(m, inside, depth=component.depth)


def sequencer_lemmas(m, inside, *path):
    """A command on offer is complete."""
    m.d.comb += holds(implies(inside.signal(*path, "port__command__valid"),
                              ~inside.signal(*path, "words__ready")))


def sequencer(m, component, inside):
    sequencer_lemmas(m, inside)
    m.d.comb += given(implies(component.grant, component.request))


def control(m, component, inside):
    for engine in ENGINES:
        sequencer_lemmas(m, inside, f"{engine.name.lower()}_sequencer")


def mover(m, component, inside):
    for name in ("destinations", "beats"):
        queue_lemmas(m, inside, name, depth=BEATS_IN_FLIGHT)


def host_lemmas(m, inside, *path):
    """A read that waits for its answer is one of a memory and has the place for it."""
    names = ("present", "good", "response__valid", "bus__write", "bus__region")
    present, good, full, write, region = (inside.signal(*path, name) for name in names)
    m.d.comb += holds(implies(inside.signal(*path, "waiting"), present & good & ~full & ~write
                              & (region != Region.REGISTERS) & (region != Region.QUEUES)))


def host(m, component, inside):
    host_lemmas(m, inside)


def core(m, component, inside):
    host_lemmas(m, inside, "host")


def chip(m, component, inside):
    host_lemmas(m, inside, "core0", "host")


def short_queue_lemmas(m, inside, *path, depth):
    """At most ``depth`` elements."""
    produced, consumed = inside.signal(*path, "produced"), inside.signal(*path, "consumed")
    m.d.comb += holds((produced - consumed)[:len(produced)] <= depth)


def short_queue(m, component, inside):
    short_queue_lemmas(m, inside, depth=component.depth)


def fork_lemmas(m, inside, *path):
    for _, name, _ in inside.part(*path).subfragments:
        short_queue_lemmas(m, inside, *path, name, depth=MESH.queue_depth)


def fork(m, component, inside):
    fork_lemmas(m, inside)


def guard(m, component, inside):
    """A node stays where it is, and its coordinates are in each packet."""
    constant(m, Cat(component.place.x, component.place.y))


def merge_lemmas(m, inside, request, *path):
    """What was offered and not accepted is one element that is still there."""
    last, held = inside.signal(*path, "last"), inside.signal(*path, "held")
    m.d.comb += [holds((last & (last - 1))[:len(last)] == 0), holds(implies(held, last & request))]


def merge(m, component, inside):
    merge_lemmas(m, inside, Cat(each.valid for each in component.i))


def router_lemmas(m, inside, *path):
    for _, name, _ in inside.part(*path).subfragments:
        if name.endswith("_fork"):
            fork_lemmas(m, inside, *path, name)
        elif name.endswith("_merge"):
            merge_lemmas(m, inside, inside.signal(*path, name, "request"), *path, name)


def router(m, component, inside):
    router_lemmas(m, inside)


def mesh(m, component, inside):
    for _, name, _ in inside.part().subfragments:
        router_lemmas(m, inside, name)


def control_reset(m, control):
    return past(m, control.reset)


#: Component: its invariants, and the condition in which a request may be taken back.
#: A core that stops at a fault takes back what no memory has accepted; it is reset before it goes
#: on. CONTROL.RESET takes back everything except what external memory and the host have seen.
SENDERS = {
    "Bus": (None, None),
    "Chip": (chip, None),
    "Control": (control, control_reset),
    "Core": (core, None),
    "ExternalPort": (None, None),
    "Fork": (fork, None),
    "Guard": (guard, None),
    "HostPort": (host, lambda m, port: port.hold),
    "Merge": (merge, None),
    "Mesh": (mesh, None),
    "Mover": (mover, lambda m, mover: mover.port.halt),
    "Queue": (queue, None),
    "Router": (router, None),
    "Sequencer": (sequencer, None),
    "ShortQueue": (short_queue, None),
    "VectorUnit": (None, lambda m, unit: unit.engine.halt),
}

def test_every_sender_is_proven():
    sending = {name for name in component_classes()
               if any(stream.outgoing for stream in handshakes(create(name)))}
    assert sending == set(SENDERS)


@pytest.mark.parametrize("name", SENDERS)
def test_streams_stay(name):
    lemmas, withdrawn = SENDERS[name]
    prove(StreamProof(create(name), lemmas=lemmas, withdrawn=withdrawn), f"stream_{name}", depth=3)


@pytest.mark.parametrize(("name", "module", "old", "new"), [
    ("Bus", "bus", "held.eq(self.mover.valid & choice & ~self.mover.ready)", "held.eq(0)"),
    ("ExternalPort", "external", "done.eq((~self.request.valid | self.request.ready)",
     "done.eq((~self.request.valid | self.request.ready | self.write.ready)"),
    ("HostPort", "host", "present & ~self.hold & (access.write | ~self.response.valid)",
     "present & ~self.hold"),
    ("Mover", "mover", "store.eq(Mux(idle, walk.store, storing))", "store.eq(walk.store)"),
    ("Sequencer", "sequencer", "self.words.ready.eq(~complete)", "self.words.ready.eq(1)"),
    ("VectorUnit", "vector.issue", "self.start.eq(allowed & (~from_acc | self.acc_ready))",
     "self.start.eq(allowed)"),
])
def test_a_sender_that_changes_its_mind_is_found(name, module, old, new, monkeypatch):
    break_design(monkeypatch, module, old, new)
    _, withdrawn = SENDERS[name]
    refute(StreamProof(create(name), withdrawn=withdrawn), f"stream_{name}_broken", depth=12)
