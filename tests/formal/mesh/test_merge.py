"""A merge serves one stream at a time, and passes nobody over twice by the same one."""
import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.mesh.merge import Merge
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import given, holds, implies, past, prove, refute

WIDTH = 2


class MergeProof(wiring.Component):
    """Watches one stream: while it waits, each other one is served at most once.

    Parameters
    ----------
    count : int
        Number of streams.
    watched : int
        The one that is watched.
    """

    def __init__(self, *, count, watched):
        self._count, self._watched = count, watched
        self._merge = Merge(width=WIDTH, count=count)
        super().__init__({"i": In(stream.Signature(WIDTH)).array(count), "take": In(1)})

    def elaborate(self, platform):
        m = Module()
        merge, inside = self._merge, Inside(self._merge)
        m.submodules.merge = inside.fragment
        for ours, theirs in zip(self.i, merge.i, strict=True):
            connect(m, flipped(ours), theirs)
            offered = past(m, Cat(theirs.valid, theirs.payload))
            m.d.comb += given(implies(past(m, theirs.valid & ~theirs.ready),
                                      Cat(theirs.valid, theirs.payload) == offered))
        m.d.comb += merge.o.ready.eq(self.take)
        served = Cat(each.valid & each.ready for each in merge.i)
        self._passes(m, merge, served)
        self._waits(m, inside, served)
        return m

    def _passes(self, m, merge, served):
        m.d.comb += [
            holds((served & (served - 1))[:self._count] == 0),
            holds(served.any() == (merge.o.valid & merge.o.ready)),
            # Whoever has something to send makes an offer.
            holds(merge.o.valid == Cat(each.valid for each in merge.i).any()),
            *(holds(implies(served[index], merge.o.payload == each.payload))
              for index, each in enumerate(merge.i)),
        ]

    def _waits(self, m, inside, served):
        """``passed``: those that were served since the watched stream waits. All of them are
        between it and the one that was served last, if one goes round, or it is its turn."""
        last, held = inside.signal("last"), inside.signal("held")
        passed = Signal(self._count)
        waits = self.i[self._watched].valid & ~served[self._watched]
        m.d.sync += passed.eq(Mux(waits, passed | served, 0))
        m.d.comb += [holds((passed & served) == 0), holds((last & (last - 1))[:self._count] == 0),
                     holds(implies(held, last)), holds(implies(passed, waits | served))]
        order = [(self._watched + step) % self._count for step in range(self._count)]
        m.d.comb += holds(~passed[self._watched])
        for step, index in enumerate(order[1:], 1):
            beyond = Cat(last[other] for other in order[step:])
            turn = held & last[self._watched]
            m.d.comb += holds(implies(passed[index], (beyond.any() & ~(held & last[index])) | turn))
        for index in range(self._count):
            m.d.comb += holds(implies(held & last[index], self.i[index].valid))


@pytest.mark.parametrize(("count", "watched"), [(1, 0), (2, 1), (3, 0), (5, 0), (5, 3)])
def test_merge(count, watched):
    prove(MergeProof(count=count, watched=watched), f"merge_{count}_{watched}", depth=3)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("prefers_the_first", "m.d.sync += last.eq(grant)", "m.d.sync += last.eq(1)"),
    ("changes_its_mind", "held.eq(self.o.valid & ~self.o.ready)", "held.eq(0)"),
    ("serves_two", "(bits & -bits)[:len(bits)]", "bits"),
])
def test_a_broken_merge_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "mesh.merge", old, new)
    refute(MergeProof(count=3, watched=1), f"merge_{name}", depth=10)
