"""The vector unit starts each beat of a command once, and none with an address past an end."""
import pytest
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw import isa
from systolith.hw.vector.issue import Issue
from systolith.hw.vector.work import work_layout
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, not_proven, past, prove
from tests.formal.sizes import CONFIG

WEIGHTS = (isa.Sink.WGT_ROWS, isa.Sink.WGT_LANES)


class IssueProof(wiring.Component):
    """Commands, accumulators and halt are free."""

    def __init__(self):
        self._issue = Issue(config=CONFIG)
        super().__init__(self._issue.signature)

    def elaborate(self, platform):
        m = Module()
        issue = self._issue
        self._inside = Inside(issue)
        m.submodules.issue = self._inside.fragment
        connect(m, flipped(self), issue)
        self._work = data.View(work_layout(CONFIG), self._inside.signal("_work"))
        self._commands(m)
        self._beats(m)
        for name, uses in self._uses().items():
            self._bounded(m, name, uses)
        return m

    def _commands(self, m):
        """A beat is one of a command that was taken; nothing starts at a fault or when halted."""
        issue, engine = self._issue, self._issue.engine
        taken = engine.command.valid & engine.command.ready
        final = issue.start & issue.beat.final
        open_ = Signal()
        m.d.sync += open_.eq(taken | (open_ & ~final))
        m.d.comb += [
            holds(engine.active == open_), holds(implies(issue.start, open_)),
            holds(implies(taken, ~open_ | final)),
            holds(implies(issue.start | taken | issue.acc_valid, ~engine.halt)),
            holds(implies(engine.error, ~issue.start & ~taken)),
            # A fault stays: what is at fault never goes on.
            holds(implies(past(m, engine.error) & ~engine.halt, engine.error)),
            holds(implies(issue.start & (issue.beat.source == isa.Source.ACC),
                          issue.acc_valid & issue.acc_ready)),
        ]

    def _beats(self, m):
        """All beats of all rows, each once: the last one of a row and of the command is its own."""
        issue, work, inside = self._issue, self._work, self._inside
        beats_left, rows_left, last_row, one_beat = (
            inside.signal(name) for name in ("beats_left", "rows_left", "last_row", "one_beat"))
        number, row = Signal(16), Signal(16)
        with m.If(issue.engine.command.valid & issue.engine.command.ready):
            m.d.sync += [number.eq(0), row.eq(0)]
        with m.Elif(issue.start):
            m.d.sync += [number.eq(Mux(issue.beat.last, 0, number + 1)),
                         row.eq(row + issue.beat.last)]
        runs = issue.engine.active & ~work.fault
        m.d.comb += [
            holds(implies(issue.start, issue.beat.last == (number == work.beats - 1))),
            holds(implies(issue.start, issue.beat.final == (issue.beat.last
                                                            & (row == work.rows - 1)))),
            holds(implies(issue.start, (issue.number == number)
                          & (issue.beat.first == (number == 0)))),
            # Invariants of the counters.
            holds(implies(runs, (number + beats_left == work.beats) & (beats_left != 0)
                          & (row + rows_left == work.rows) & (rows_left != 0)
                          & (issue.number == number))),
            holds(implies(runs, (inside.signal("_row_end") == (beats_left == 1))
                          & (last_row == (rows_left == 1)) & (one_beat == (work.beats == 1)))),
        ]

    def _uses(self):
        """For each address: for which memories it is, and of how many words they are."""
        work = self._work
        weights = Cat(work.sink == sink for sink in WEIGHTS).any()
        vec = work.source == isa.Source.VEC
        return {
            "source": ((~vec, CONFIG.acc_depth), (vec, CONFIG.vec_depth)),
            "sink": ((work.sink == isa.Sink.ACT, CONFIG.act_depth),
                     (work.sink == isa.Sink.VEC, CONFIG.vec_depth), (weights, CONFIG.wgt_depth)),
            "stream": ((work.uses_stream, CONFIG.vec_depth),),
            "const": ((work.uses_column, CONFIG.const_depth),),
            "row_read": ((work.uses_row, CONFIG.row_depth),),
            "row_write": ((work.reduce != isa.Reduce.NONE, CONFIG.row_depth),),
        }

    def _bounded(self, m, name, uses):
        """No beat starts whose address is past the end of the memory that it is for."""
        address, beyond = (self._inside.signal(name, port) for port in ("address", "past"))
        kept, active = self._inside.signal(f"{name}_kept"), self._issue.engine.active
        for index, (used, depth) in enumerate(uses):
            m.d.comb += [
                holds(implies(self._issue.start & used, address < depth)),
                holds(implies(active, kept[index] == used)),
            ]
        m.d.comb += holds(implies(active, beyond == Cat(
            used & (address >= depth) for used, depth in uses).any()))


def test_issue():
    prove(IssueProof(), "issue", depth=2)


@pytest.mark.parametrize(("name", "module", "old", "new"), [
    ("reaches_beyond", "vector.address", "address[exact_log2(depth):].any()",
     "address[exact_log2(depth) + 1:].any()"),
    ("does_not_check_the_sink", "vector.issue", "self._source, self._sink, self._stream,",
     "self._source, self._stream,"),
    ("starts_when_stopped", "vector.issue", "active & ~engine.halt & ~faulty",
     "active & ~faulty"),
    ("one_beat_too_few", "vector.issue", "self._row_end.eq(beats_left == 2)",
     "self._row_end.eq(beats_left == 3)"),
    ("one_row_too_many", "vector.issue", "last_row.eq(rows_left == 2)",
     "last_row.eq(rows_left == 1)"),
    ("takes_over_a_command", "vector.issue", "ready | (self.start & self._final)",
     "ready | (self.start & self._row_end)"),
])
def test_a_broken_issue_is_found(name, module, old, new, monkeypatch):
    break_design(monkeypatch, module, old, new)
    not_proven(IssueProof(), f"issue_{name}", depth=2)
