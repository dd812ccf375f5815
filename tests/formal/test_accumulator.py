"""Any sequence of beats adds up exactly, and a read that is accepted gives what was written."""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.accumulator import Accumulator, sums_delay
from tests.formal.history import history
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import constant, holds, implies, prove, refute
from tests.formal.sizes import CONFIG


class AccumulatorProof(wiring.Component):
    """Follows the first accumulator of an arbitrary word; all ports are free."""

    def __init__(self, config=CONFIG):
        self._config = config
        self._accumulator = Accumulator(config=config)
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
        summed, first = (history(m, value, sums_delay(self._config)) for value in (hit, beat.first))
        with m.If(summed):
            m.d.sync += [total.eq(Mux(first, 0, total) + beat.sums[0]),
                         started.eq(started | first)]
        stored = Mux(word[-1], *(inside.word(f"half_{half}", "words", address=word[:-1])[:32]
                                 for half in (1, 0)))
        m.d.comb += [
            # The sum of all beats is in the memory, or on its way there in this very cycle.
            holds(implies(started, Mux(history(m, hit, self._config.accumulate_latency),
                                       inside.signal("result_0") == total, stored == total))),
        ]
        self._reads(m, word, stored, history(m, hit, self._config.accumulate_latency))
        return m

    def _reads(self, m, word, stored, written):
        """The vector unit gets the word as it was when its request was accepted."""
        read = self._accumulator.read
        accepted = read.valid & read.ready & (read.address == word) & ~written
        cycles = self._config.source_latency
        m.d.comb += holds(implies(history(m, accepted, cycles),
                                  read.data[0] == history(m, stored, cycles)))


@pytest.mark.parametrize("read_cycles", [1, 2])
def test_accumulator(read_cycles):
    prove(AccumulatorProof(CONFIG.replace(read_cycles=read_cycles)),
          f"accumulator_{read_cycles}", depth=7 + read_cycles)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("no_forwarding", "bit & ~same[:place].any()", "bit & ~same[:place].any() & (place != 1)"),
    ("wrong_result", 'register(m, former[-1], f"written_{column}_{distance}")',
     "former[-1]"),
    ("vector_unit_first", "read.ready.eq(~Mux(read.address[-1], array_reads[1], array_reads[0]))",
     "read.ready.eq(1)"),
])
def test_a_broken_accumulator_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "accumulator", old, new)
    refute(AccumulatorProof(), f"accumulator_{name}", depth=14)
