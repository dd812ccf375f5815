"""Each beat that starts is written once, at a fixed time; a command retires once, in order, and not
before its last write to a memory and of its reduction.
"""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from systolith.hw import isa
from systolith.hw.vector.pipeline import Pipeline
from systolith.hw.vector.timing import WRITE_AT, reduction_at
from tests.formal.history import history
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, prove, refute
from tests.formal.sizes import CONFIG

#: Cycles in which all that a beat does is over.
DEPTH = reduction_at(CONFIG) + 2


class PipelineProof(wiring.Component):
    """Any beats start in any cycles. ``follow`` decides which command is followed."""

    def __init__(self):
        self._pipeline = Pipeline(config=CONFIG)
        inputs = {name: member for name, member in self._pipeline.signature.members.items()
                  if member.flow == In}
        super().__init__({**inputs, "follow": In(1)})

    def elaborate(self, platform):
        m = Module()
        pipeline = self._pipeline
        inside = Inside(pipeline)
        m.submodules.pipeline = inside.fragment
        m.d.comb += [Value.cast(getattr(pipeline, name)).eq(Value.cast(getattr(self, name)))
                     for name in self.signature.members if name != "follow"]
        self._sink(m)
        self._reduction(m)
        self._retire(m, inside.signal("retire", "late"))
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

    def _retire(self, m, late):
        """The followed command retires when all before it have, and when its writes are done."""
        retire, ends = self._pipeline.retire, self.start & self.beat.final
        reduces = self.beat.reduce != isa.Reduce.NONE
        pending = Signal(range(2 * DEPTH))
        m.d.sync += pending.eq(pending + ends - retire)
        line = Signal(WRITE_AT)
        m.d.sync += line.eq(Cat(ends, line[:-1]))
        following, ahead, age = Signal(), Signal.like(pending), Signal(range(2 * DEPTH))
        soonest = Signal.like(age)
        with m.If(ends & self.follow & ~following):
            m.d.sync += [following.eq(1), ahead.eq(pending - retire), age.eq(1),
                         soonest.eq(Mux(reduces, reduction_at(CONFIG), WRITE_AT))]
        with m.Elif(following):
            m.d.sync += [age.eq(age + 1), ahead.eq(ahead - retire),
                         following.eq(~(retire & (ahead == 0)))]
        m.d.comb += [
            # Who has not retired is on its way to the sink's write or to the reduction's.
            holds(pending == sum(line) + sum(late)),
            holds(implies(retire, pending != 0)),
            holds(implies(following & retire & (ahead == 0), age >= soonest)),
            holds(implies(following, age <= reduction_at(CONFIG))),
        ]


def test_pipeline():
    prove(PipelineProof(), "pipeline", depth=DEPTH)


@pytest.mark.parametrize(("name", "module", "old", "new"), [
    ("retires_before_the_reduction", "vector.pipeline",
     "late = reduction_at(self._config) - WRITE_AT", "late = reduction_at(self._config) - SINK_AT - 2"),
    ("overtakes", "vector.retire", "self.done & (self.reduces | late.any())",
     "self.done & self.reduces"),
    ("retires_before_the_write", "vector.pipeline", "retire.done.eq(self._valid[WRITE_AT] & final)",
     "retire.done.eq(self._valid[SINK_AT] & final)"),
    ("writes_nothing", "vector.pipeline", "sink.valid.eq(self._valid[SINK_AT])",
     "sink.valid.eq(self._valid[SINK_AT] & ~at_sink.bank[0])"),
    ("reduces_every_beat", "vector.pipeline", "Cat(valid & beat.last & (", "Cat(valid & ("),
])
def test_a_broken_pipeline_is_found(name, module, old, new, monkeypatch):
    break_design(monkeypatch, module, old, new)
    refute(PipelineProof(), f"pipeline_{name}", depth=DEPTH + 6)
