"""Any sequence of beats adds up exactly, and a read that is accepted gives what was written."""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.accumulator import SUMS_DELAY, Accumulator
from systolith.hw.config import ACCUMULATE_LATENCY
from tests.formal.history import history
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import constant, holds, implies, past, prove, refute
from tests.formal.sizes import CONFIG


class AccumulatorProof(wiring.Component):
    """Follows the first accumulator of an arbitrary word; all ports are free."""

    def __init__(self):
        self._accumulator = Accumulator(config=CONFIG)
        super().__init__({**self._accumulator.signature.members,
                          "word": In(range(CONFIG.acc_depth))})

    def elaborate(self, platform):
        m = Module()
        accumulator, inside = self._accumulator, Inside(self._accumulator)
        m.submodules.accumulator = inside.fragment
        for name in accumulator.signature.members:
            connect(m, flipped(getattr(self, name)), getattr(accumulator, name))
        word = constant(m, self.word)
        beat = accumulator.array
        hit = beat.valid & (beat.address == word)
        total, started = Signal(32), Signal()
        summed, first = (history(m, value, SUMS_DELAY) for value in (hit, beat.first))
        with m.If(summed):
            m.d.sync += [total.eq(Mux(first, 0, total) + beat.sums[0]),
                         started.eq(started | first)]
        stored = Mux(word[-1], *(inside.word(f"half_{half}", "words", address=word[:-1])[:32]
                                 for half in (1, 0)))
        m.d.comb += [
            # The sum of all beats is in the memory, or on its way there in this very cycle.
            holds(implies(started, Mux(history(m, hit, ACCUMULATE_LATENCY),
                                       inside.signal("result_0") == total, stored == total))),
        ]
        self._reads(m, word, stored, history(m, hit, ACCUMULATE_LATENCY))
        return m

    def _reads(self, m, word, stored, written):
        """The vector unit gets the word as it was when its request was accepted."""
        read = self._accumulator.read
        accepted = read.valid & read.ready & (read.address == word) & ~written
        m.d.comb += holds(implies(past(m, accepted), read.data[0] == past(m, stored)))


def test_accumulator():
    prove(AccumulatorProof(), "accumulator", depth=8)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("no_forwarding", "with m.Elif(same[1]):", "with m.Elif(same[1] & same[0]):"),
    ("wrong_result", "with m.Elif(sources[1][3]):\n                m.d.sync += base.eq(written)",
     "with m.Elif(sources[1][3]):\n                m.d.sync += base.eq(result)"),
    ("vector_unit_first", "read.ready.eq(~Mux(read.address[-1], array_reads[1], array_reads[0]))",
     "read.ready.eq(1)"),
])
def test_a_broken_accumulator_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "accumulator", old, new)
    refute(AccumulatorProof(), f"accumulator_{name}", depth=14)
