"""Every stream of the hardware keeps its payload while it is stalled.

The streams are found by walking the signatures of all components. A component that sends and is
not in the table below fails :func:`test_every_sender_is_proven`.
"""
import pytest
from amaranth import *
from amaranth.lib import data

from systolith.hw.config import CORE_SHIFT, REGION_SHIFT, Region
from systolith.hw.host import HostRequest
from systolith.hw.host_router import DUE
from systolith.hw.isa import ENGINES
from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.interface import ARRIVED
from systolith.hw.mover import BEATS_IN_FLIGHT
from systolith.hw.sdram.requests import READS
from tests.formal.components import MESH, UNCORE, component_classes, create
from tests.formal.mutant import break_design
from tests.formal.prove import constant, given, holds, implies, past, prove, refute
from tests.formal.queues import queue_lemmas
from tests.formal.streams import StreamProof, handshakes

# Components are also made for the sake of their signatures alone.
pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


def queue(m, component, inside):
    queue_lemmas(m, inside, depth=component.depth)


def sequencer_lemmas(m, inside, *path):
    """A command on offer is complete, and one that waits for its start is not on offer."""
    offered, complete, held = (inside.signal(*path, name)
                               for name in ("port__command__valid", "complete", "held"))
    m.d.comb += [holds(implies(offered, complete)), holds(held == (complete & ~offered))]


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
    """What waits for its answer is a good read of registers or a memory, with a place for it."""
    present, good, memory, full, waiting, access = (inside.signal(*path, name) for name in (
        "present", "good", "memory", "response__valid", "_waiting", "access"))
    access = data.View(HostRequest(), access)
    region = access.address[REGION_SHIFT:CORE_SHIFT]
    m.d.comb += [
        holds(implies(waiting,
                      present & good & ~full & ~access.write & (region != Region.QUEUES))),
        holds(implies(memory,
                      good & (region != Region.QUEUES) & (region != Region.REGISTERS))),
    ]


def host(m, component, inside):
    host_lemmas(m, inside)


def core(m, component, inside):
    host_lemmas(m, inside, "host")


def chip(m, component, inside):
    host_lemmas(m, inside, "core0", "host")


def beats(m, component, inside):
    """The beat that is due is the one that was asked for, and its first word has a place."""
    due = inside.signal("due")
    m.d.comb += [holds(inside.signal("external", "due") == due),
                 holds(~inside.signal("external", "discard")),
                 holds(implies(due, ~component.port.response.valid))]


def executor(m, component, inside):
    """The buffer's word stays until the next read."""
    buffer = component.buffer
    m.d.comb += given(past(m, buffer.valid) | (buffer.data == past(m, buffer.data)))


def share(m, component, inside):
    """Memory answers what it was asked for; a user sends at most one beat ahead or behind."""
    owner, due, surplus = (inside.signal(name) for name in ("owner", "due", "surplus"))
    m.d.comb += [given(implies(component.memory.read.valid, due != 0)), holds(surplus != -2)]
    for index, user in enumerate((component.chip, component.link)):
        mine = owner == index
        m.d.comb += [
            given(implies(mine & (surplus == 1), ~user.request.valid & user.write.valid)),
            given(implies(mine & (surplus == -1), user.request.valid & user.request.p.write
                          & ~user.write.valid)),
        ]


def fork_lemmas(m, inside, *path, depth=MESH.queue_depth):
    for _, name, _ in inside.part(*path).subfragments:
        queue_lemmas(m, inside, *path, name, depth=depth)


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


def router_lemmas(m, inside, *path, depth=MESH.queue_depth):
    for _, name, _ in inside.part(*path).subfragments:
        if name.endswith("_fork"):
            fork_lemmas(m, inside, *path, name, depth=depth)
        elif name.endswith("_merge"):
            merge_lemmas(m, inside, inside.signal(*path, name, "request"), *path, name)


def router(m, component, inside):
    router_lemmas(m, inside)


def mesh_lemmas(m, inside, *path, depth=MESH.queue_depth):
    for _, name, _ in inside.part(*path).subfragments:
        router_lemmas(m, inside, *path, name, depth=depth)


def mesh(m, component, inside):
    mesh_lemmas(m, inside)


def accesses_lemmas(m, inside, *path):
    """At most two accesses."""
    m.d.comb += holds(inside.signal(*path, "level") <= 2)


def accesses(m, component, inside):
    accesses_lemmas(m, inside)


def requests_lemmas(m, inside, *path):
    """The queues of accesses and of beats read."""
    queue_lemmas(m, inside, *path, "reads", depth=READS)
    accesses_lemmas(m, inside, *path, "accesses")


def requests(m, component, inside):
    requests_lemmas(m, inside)


def sdram(m, component, inside):
    requests_lemmas(m, inside, "requests")


def rows(m, component, inside):
    """What has passed closes no row, and nothing else does but a refresh, which holds."""
    banks = Cat(component.open, component.open_rows)
    m.d.comb += given((banks == past(m, banks)) | component.hold)


def forgotten(m, component):
    """Its user is reset with it."""
    return past(m, component.forget)


def control_reset(m, control):
    return past(m, control.reset)


def interface(m, component, inside):
    queue_lemmas(m, inside, "arrived", depth=ARRIVED)


def host_router_lemmas(m, responses, inside, *path):
    """A core answers what it was asked for."""
    due, reader = inside.signal(*path, "due"), inside.signal(*path, "reader")
    m.d.comb += holds(due <= DUE)
    for index, response in enumerate(responses):
        m.d.comb += given(implies(response.valid, (due != 0) & (reader == index)))


def host_router(m, component, inside):
    host_router_lemmas(m, component.responses, inside)


def external_merge_lemmas(m, inside, *path, reads):
    """Whose accesses are owed is in queues."""
    merge_lemmas(m, inside, inside.signal(*path, "merge", "request"), *path, "merge")
    queue_lemmas(m, inside, *path, "readers", depth=reads)
    queue_lemmas(m, inside, *path, "writers",
                 depth=1 << len(inside.signal(*path, "writers", "level")) - 1)


def external_merge(m, component, inside):
    external_merge_lemmas(m, inside, reads=4)


def uncore(m, component, inside):
    host_router_lemmas(m, [core.host_response for core in component.cores], inside, "host")
    external_merge_lemmas(m, inside, "external", reads=256)
    mesh_lemmas(m, inside, "mesh", depth=MeshConfig.of(UNCORE).queue_depth)


#: Component: its invariants, and the condition in which a request may be taken back.
#: A core that stops at a fault takes back what no memory has accepted; it is reset before it goes
#: on. CONTROL.RESET takes back everything except what external memory and the host have seen.
SENDERS = {
    "Accesses": (accesses, None),
    "Beats": (beats, None),
    "Buffer": (None, None),
    "Bus": (None, None),
    "Chip": (chip, None),
    "Control": (control, control_reset),
    "Core": (core, None),
    "Executor": (executor, lambda m, executor: executor.dead),
    "ExternalBuffer": (None, None),
    "ExternalMerge": (external_merge, None),
    "ExternalPort": (None, None),
    "ExternalRam": (None, forgotten),
    "ExternalShare": (share, None),
    "Fork": (fork, None),
    "FrameSender": (None, None),
    "Guard": (guard, None),
    "HostPort": (host, lambda m, port: port.hold),
    "HostRouter": (host_router, None),
    "Link": (None, lambda m, link: link.dead),
    "Merge": (merge, None),
    "Mesh": (mesh, None),
    "Mover": (mover, lambda m, mover: mover.port.halt),
    "NetworkInterface": (interface, lambda m, interface: past(m, interface.reset)),
    "Queue": (queue, None),
    "Requests": (requests, forgotten),
    "Router": (router, None),
    "Rows": (rows, lambda m, rows: rows.hold),
    "Sdram": (sdram, forgotten),
    "Sequencer": (sequencer, None),
    "Stage": (None, None),
    "Uncore": (uncore, None),
    "VectorUnit": (None, lambda m, unit: unit.engine.halt),
    "WishboneHost": (None, None),
    "WishboneMemory": (None, None),
}
#: Simulated with random stalls only: when an engine answers is up to its microprogram.
SIMULATED = {"CompactCore", "Engine"}


def test_every_sender_is_proven():
    sending = {name for name in component_classes()
               if any(stream.outgoing for stream in handshakes(create(name)))}
    assert sending == SENDERS.keys() | SIMULATED


@pytest.mark.parametrize("name", SENDERS)
def test_streams_stay(name):
    lemmas, withdrawn = SENDERS[name]
    prove(StreamProof(create(name), lemmas=lemmas, withdrawn=withdrawn), f"stream_{name}", depth=3)


@pytest.mark.parametrize(("name", "module", "old", "new"), [
    ("Buffer", "buffer", "moves.eq(~self.o.valid | self.o.ready)", "moves.eq(1)"),
    ("Bus", "bus", "held = self.mover.valid & choice & ~self.mover.ready", "held = Const(0)"),
    ("ExternalMerge", "external_merge", "source.eq(Mux(writers.o.valid, writers.o.payload, who))",
     "source.eq(who)"),
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
