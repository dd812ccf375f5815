"""Short queues neither lose nor invent nor reorder, and hold as many as their depth."""
import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.mesh.short_queue import ShortQueue
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, prove, refute

DEPTH = 4
WIDTH = 8


class ShortQueueProof(wiring.Component):
    """Follows one element, of which ``follow`` decides which it is, from push to pop."""

    def __init__(self):
        self._queue = ShortQueue(shape=WIDTH, depth=DEPTH)
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
        produced, consumed = inside.signal("produced"), inside.signal("consumed")
        m.d.comb += [
            holds(held <= DEPTH), holds(held == (produced - consumed)[:len(produced)]),
            holds(queue.i.ready == (held != DEPTH)), holds(queue.o.valid == (held != 0)),
        ]
        following, ahead, element = Signal(), Signal(range(DEPTH)), Signal(WIDTH)
        with m.If(push & self.follow & ~following):
            m.d.sync += [following.eq(1), element.eq(queue.i.payload), ahead.eq(held - pop)]
        with m.Elif(following & pop):
            m.d.sync += [following.eq(ahead != 0), ahead.eq(ahead - 1)]
        word = inside.word("words", address=(consumed + ahead)[:len(consumed) - 1])
        with m.If(following):
            m.d.comb += [
                holds(ahead < held), holds(word == element),
                holds(implies(ahead == 0, queue.o.valid & (queue.o.payload == element))),
            ]
        return m


def test_short_queue():
    prove(ShortQueueProof(), "short_queue", depth=3)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("accepts_one_too_many", "self.i.ready.eq(produced ^ consumed != self._depth)",
     "self.i.ready.eq(1)"),
    ("forgets_a_pop", "consumed.eq(consumed + pop)", "consumed.eq(consumed + (pop & ~push))"),
    ("writes_elsewhere", "write.addr.eq(produced)", "write.addr.eq(produced | 1)"),
])
def test_a_broken_short_queue_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "mesh.short_queue", old, new)
    refute(ShortQueueProof(), f"short_queue_{name}", depth=8)
