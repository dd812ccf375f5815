"""The first fault stops the core two cycles later and is kept, and only a fault stops it."""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.faults import Faults
from systolith.hw.isa import ENGINES, Cause, Engine
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, past, prove, refute


class FaultsProof(wiring.Component):
    """All inputs are free. ``order`` is that of the documentation: who of them wins."""

    def __init__(self):
        self._faults = Faults()
        super().__init__(self._faults.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.faults = faults = self._faults
        connect(m, flipped(self), faults)
        reports = [getattr(self, engine.name.lower()) for engine in ENGINES]
        # Semaphores tell of an overflow a cycle late, all others are told at once.
        order = [
            *((past(m, reports[e].error), e, past(m, reports[e].cause), past(m, reports[e].index))
              for e in ENGINES),
            (past(m, self.address), Engine.HOST, Cause.ADDRESS, 0),
            *((past(m, self.overrun[e]), e, Cause.QUEUE_OVERRUN, past(m, reports[e].started))
              for e in ENGINES),
            *((self.overflow[e], e, Cause.SEMAPHORE_OVERFLOW, past(m, reports[e].retired))
              for e in ENGINES),
            (self.overflow[Engine.HOST], Engine.HOST, Cause.SEMAPHORE_OVERFLOW, 0),
        ]
        self._kept(m, Cat(happened for happened, *_ in order))
        before = Const(0)
        for happened, engine, cause, index in order:
            wins = past(m, happened & ~before & ~faults.stopped)
            m.d.comb += holds(implies(wins, (faults.fault.engine == engine)
                                      & (faults.fault.cause == past(m, cause))
                                      & (faults.fault.index == past(m, index))))
            before = before | happened
        return m

    def _kept(self, m, faults):
        stopped, fault = self._faults.stopped, self._faults.fault.as_value()
        m.d.comb += [
            holds(stopped == (past(m, stopped) | past(m, faults).any())),
            holds(implies(past(m, stopped), fault == past(m, fault))),
        ]


def test_faults():
    prove(FaultsProof(), "faults", depth=3)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("the_last_wins", "with m.If(~self.stopped & happened):", "with m.If(happened):"),
    ("the_wrong_order", "in reversed(candidates):", "in candidates:"),
    ("index_of_the_next", "Cause.QUEUE_OVERRUN, reports[e].started",
     "Cause.QUEUE_OVERRUN, getattr(self, e.name.lower()).started"),
    ("goes_on", "self.stopped.eq(1), self.fault.engine", "self.fault.engine"),
])
def test_broken_faults_are_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "faults", old, new)
    refute(FaultsProof(), f"faults_{name}", depth=6)
