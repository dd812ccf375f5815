"""Each beat that starts is written once, at a fixed time.

A command retires once, in order, and never before its last write to a memory and of its reduction.
"""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from systolith.hw import isa
from systolith.hw.vector.pipeline import Pipeline
from systolith.hw.vector.retire import Retire
from systolith.hw.vector.timing import WRITE_AT, reduction_at
from tests.formal.history import history
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, prove, refute
from tests.formal.sizes import CONFIG

#: Cycles in which all that a beat does is over.
DEPTH = reduction_at(CONFIG) + 2
#: Cycles from the sink's write to that of a reduction.
LATE = reduction_at(CONFIG) - WRITE_AT


class PipelineProof(wiring.Component):
    """Any beats start in any cycles."""

    def __init__(self):
        self._pipeline = Pipeline(config=CONFIG)
        inputs = {name: member for name, member in self._pipeline.signature.members.items()
                  if member.flow == In}
        super().__init__(inputs)

    def elaborate(self, platform):
        m = Module()
        pipeline = self._pipeline
        inside = Inside(pipeline)
        m.submodules.pipeline = inside.fragment
        m.d.comb += [Value.cast(getattr(pipeline, name)).eq(Value.cast(getattr(self, name)))
                     for name in self.signature.members]
        self._sink(m)
        self._reduction(m)
        self._done(m, inside)
        return m

    def _sink(self, m):
        """The sink writes what started WRITE_AT cycles ago, where that beat said."""
        pipeline, beat = self._pipeline, self.beat
        started, kind, address = (history(m, value, WRITE_AT) for value in (
            self.start, beat.sink, beat.sink_address))
        sinks = ((pipeline.act, (isa.Sink.ACT,)), (pipeline.vec_write, (isa.Sink.VEC,)),
                 (pipeline.wgt, (isa.Sink.WGT_ROWS, isa.Sink.WGT_LANES)))
        for port, kinds in sinks:
            m.d.comb += [
                holds(port.valid == (started & Cat(kind == each for each in kinds).any())),
                holds(implies(port.valid, port.address == address[:len(port.address)])),
            ]

    def _reduction(self, m):
        """One write for the last beat of each row that reduces."""
        write, beat, late = self._pipeline.row_write, self.beat, reduction_at(CONFIG)
        ends = self.start & beat.last & (beat.reduce != isa.Reduce.NONE)
        address = history(m, beat.row_address, late)
        m.d.comb += [
            holds(write.valid == history(m, ends, late)),
            holds(implies(write.valid, write.address == address[:len(write.address)])),
        ]

    def _done(self, m, inside):
        """What :class:`Retire` is told is the last beat of each command, at its write."""
        beat = self.beat
        done, reduces = (inside.signal("retire", name) for name in ("done", "reduces"))
        m.d.comb += [
            holds(done == history(m, self.start & beat.final, WRITE_AT)),
            holds(implies(done, reduces == history(m, beat.reduce != isa.Reduce.NONE, WRITE_AT))),
            holds(self._pipeline.retire == inside.signal("retire", "retire")),
        ]


class RetireProof(wiring.Component):
    """Any commands end in any cycles. ``follow`` decides which is followed to its retirement."""

    def __init__(self):
        self._retire = Retire(late_cycles=LATE)
        super().__init__({"done": In(1), "reduces": In(1), "follow": In(1)})

    def elaborate(self, platform):
        m = Module()
        inside = Inside(self._retire)
        m.submodules.retire = inside.fragment
        m.d.comb += [self._retire.done.eq(self.done), self._retire.reduces.eq(self.reduces)]
        retire = self._retire.retire
        pending = Signal(range(2 * LATE))
        m.d.sync += pending.eq(pending + self.done - retire)
        following, ahead, age, late = Signal(), Signal.like(pending), Signal.like(pending), Signal()
        begins = self.done & self.follow & ~following
        leaves = retire & (Mux(begins, pending, ahead) == 0)
        with m.If(begins):
            m.d.sync += [following.eq(~leaves), ahead.eq(pending - retire), age.eq(1),
                         late.eq(self.reduces)]
        with m.Elif(following):
            m.d.sync += [age.eq(age + 1), ahead.eq(ahead - retire), following.eq(~leaves)]
        m.d.comb += [
            # Who has not retired waits, and nobody retires who has not ended.
            holds(pending == sum(inside.signal("late"))),
            holds(implies(retire, self.done | (pending != 0))),
            # A reduction is written LATE cycles after the sink's write.
            holds(implies(begins & leaves, ~self.reduces)),
            holds(implies(following & late & leaves, age == LATE)),
            holds(implies(following, age <= LATE)),
        ]
        return m


def test_pipeline():
    prove(PipelineProof(), "pipeline", depth=DEPTH)


def test_retirement():
    prove(RetireProof(), "retire", depth=LATE + 2)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("retires_before_the_write", "retire.done.eq(self._valid[WRITE_AT] & final)",
     "retire.done.eq(self._valid[SINK_AT] & final)"),
    ("writes_nothing", "sink.valid.eq(self._valid[SINK_AT])",
     "sink.valid.eq(self._valid[SINK_AT] & ~at_sink.bank[0])"),
    ("reduces_every_beat", "Cat(valid & beat.last & (", "Cat(valid & ("),
])
def test_a_broken_pipeline_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "vector.pipeline", old, new)
    refute(PipelineProof(), f"pipeline_{name}", depth=DEPTH)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("overtakes", "self.done & (self.reduces | late.any())", "self.done & self.reduces"),
    ("before_the_reduction", "self.retire.eq(late[-1] |", "self.retire.eq(late[-2] |"),
    ("forgets_one", "late[-1] | (self.done & ~joins)", "late[-1]"),
])
def test_broken_retirement_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "vector.retire", old, new)
    refute(RetireProof(), f"retire_{name}", depth=LATE + 4)
