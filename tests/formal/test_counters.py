"""Counters count every cycle once, in the state in which the engine was, and no other cycle."""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.counters import Counters
from systolith.hw.isa import ENGINES, Counter
from tests.formal.mutant import break_design
from tests.formal.prove import given, holds, implies, past, prove, refute
from tests.formal.sizes import CONFIG

#: The states of an engine in a cycle that counts.
STATES = (Counter.BUSY, Counter.STALL, Counter.WAIT_SEMAPHORE, Counter.WAIT_FENCE)


class CountersProof(wiring.Component):
    """All inputs are free, but a command waits either for semaphores or at its fence."""

    def __init__(self):
        self._counters = Counters(beat_bytes=CONFIG.bus_bytes)
        super().__init__(self._counters.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.counters = counters = self._counters
        connect(m, flipped(self), counters)
        self._counts(m, counters.cycles, self.enable)
        self._counts(m, counters.move_bytes, Mux(self.moved, CONFIG.bus_bytes, 0))
        for engine in ENGINES:
            activity = getattr(self, engine.name.lower())
            m.d.comb += given(~(activity.waiting & activity.fenced))
            self._engine(m, counters.values[engine], activity)
        return m

    def _counts(self, m, value, more):
        """A count is the one before and ``more``; 0 after ``clear``."""
        after = Mux(past(m, self.clear, init=1), 0, past(m, value) + past(m, more))
        m.d.comb += holds(value == after[:len(value)])

    def _engine(self, m, values, activity):
        issuing = activity.active & ~activity.stall
        states = (issuing, activity.active & ~issuing, ~activity.active & activity.waiting,
                  ~activity.active & activity.fenced)
        for counter, state in zip(STATES, states, strict=True):
            self._counts(m, values[counter], self.enable & state)
        self._counts(m, values[Counter.COMMANDS], activity.retire)
        # In each cycle in which the engine was in one of the states, one of them counts.
        changed = sum(values[counter] != past(m, values[counter]) for counter in STATES)
        doing = activity.active | activity.waiting | activity.fenced
        m.d.comb += holds(implies(past(m, ~self.clear),
                                  changed == past(m, self.enable & doing)))


def test_counters():
    prove(CountersProof(), "counters", depth=2)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("counts_twice", "waits = self.enable & ~engine.active", "waits = self.enable"),
    ("always_busy", "engine.active & ~engine.stall", "engine.active"),
    ("counts_when_stopped", "Counter.STALL: self.enable & ", "Counter.STALL: "),
    ("clears_too_little", "self.move_bytes.eq(0), self.values", "self.values"),
    ("beats_instead_of_bytes", "+ self._beat_bytes", "+ 1"),
])
def test_broken_counters_are_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "counters", old, new)
    refute(CountersProof(), f"counters_{name}", depth=6)
