"""Queues neither lose nor invent nor reorder, and always know how much they hold."""
import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.queue import Queue
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, past, prove, refute

DEPTH = 4
WIDTH = 8


class QueueProof(wiring.Component):
    """Follows one element, of which ``follow`` decides which it is, from push to pop.

    As it may be any, all elements come out unchanged and in order: between the followed one and
    the exit are always exactly those pushed before it.

    Parameters
    ----------
    distributed : bool
        The kind of memory.
    """

    def __init__(self, *, distributed=False):
        self._distributed = distributed
        self._queue = Queue(shape=WIDTH, depth=DEPTH, distributed=distributed)
        super().__init__({"i": In(stream.Signature(WIDTH)), "take": In(1), "follow": In(1)})

    def elaborate(self, platform):
        m = Module()
        queue, inside = self._queue, Inside(self._queue)
        m.submodules.queue = inside.fragment
        connect(m, flipped(self.i), queue.i)
        m.d.comb += queue.o.ready.eq(self.take)
        push, pop = queue.i.valid & queue.i.ready, queue.o.valid & queue.o.ready
        held = Signal(range(DEPTH + 1))
        m.d.sync += held.eq(held + push - pop)
        m.d.comb += [
            holds(held <= DEPTH), holds(queue.space == DEPTH - held),
            holds(queue.i.ready == (held != DEPTH)), holds(queue.empty == (held == 0)),
            # Nothing is invented, and what is held shows up at once, from block RAM at the latest
            # one cycle later.
            holds(implies(queue.o.valid, held != 0)),
            holds(implies(past(m, held != 0) & ~past(m, pop), queue.o.valid)),
            holds(implies((past(m, held) > 1) & past(m, pop), queue.o.valid)),
            holds(implies((held != 0) & self._distributed, queue.o.valid)),
        ]
        self._follow(m, queue, inside, push, pop, held)
        return m

    def _follow(self, m, queue, inside, push, pop, held):
        following, ahead, element = Signal(), Signal(range(DEPTH)), Signal(WIDTH)
        with m.If(push & self.follow & ~following):
            m.d.sync += [following.eq(1), element.eq(queue.i.payload), ahead.eq(held - pop)]
        with m.Elif(following & pop):
            m.d.sync += [following.eq(ahead != 0), ahead.eq(ahead - 1)]
        consumed, produced = inside.signal("consumed"), inside.signal("produced")
        m.d.comb += [holds(inside.signal("level") == held),
                     holds((produced - consumed)[:len(consumed)] == held)]
        word = inside.word("words", address=(consumed + ahead)[:len(consumed) - 1])
        with m.If(following):
            m.d.comb += [
                holds(ahead < held), holds(word == element),
                holds(implies(queue.o.valid & (ahead == 0), queue.o.payload == element)),
            ]


@pytest.mark.parametrize("distributed", [False, True])
def test_queue(distributed):
    prove(QueueProof(distributed=distributed), f"queue_{distributed}", depth=4)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("accepts_one_too_many", "self.i.ready.eq(~full)", "self.i.ready.eq(1)"),
    ("shows_a_push_too_early", "following != produced, consumed != produced",
     "following != produced, consumed != (produced + self.i.valid)[:len(produced)]"),
    ("forgets_a_pop", "Mux(pop, following, consumed)",
     "Mux(pop & ~self.i.valid, following, consumed)"),
    ("forgets_what_it_holds", "pop & (level == 1)", "pop"),
    ("writes_elsewhere", "write.addr.eq(produced)", "write.addr.eq(produced | 1)"),
])
def test_a_broken_queue_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "queue", old, new)
    refute(QueueProof(), f"queue_{name}", depth=8)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("forgets_a_pop", "m.d.sync += consumed.eq(consumed + pop)",
     "m.d.sync += consumed.eq(consumed + (pop & ~self.i.valid))"),
    ("shows_what_is_gone", "read.addr.eq(consumed), self", "read.addr.eq(consumed - 1), self"),
    ("writes_elsewhere", "write.addr.eq(produced)", "write.addr.eq(produced | 1)"),
])
def test_a_broken_distributed_queue_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "queue", old, new)
    refute(QueueProof(distributed=True), f"distributed_queue_{name}", depth=8)
