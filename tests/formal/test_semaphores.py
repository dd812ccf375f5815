"""Semaphores never go below zero or wrap unseen, and a wait takes exactly what it waits for."""
import pytest
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from systolith.hw.isa import ENGINES, Engine
from systolith.hw.semaphores import MASK_BITS, PRIORITY, Semaphores
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, past, prove, refute


class SemaphoreProof(wiring.Component):
    """Each count is followed in integers that cannot wrap; all engines and the host are free."""

    def __init__(self, *, count, width):
        self._count, self._width = count, width
        self._semaphores = Semaphores(count=count, width=width)
        super().__init__({"request": In(len(ENGINES)),
                          "wait": In(data.ArrayLayout(MASK_BITS, len(ENGINES))),
                          "signal": In(data.ArrayLayout(MASK_BITS, len(Engine)))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.semaphores = semaphores = self._semaphores
        m.d.comb += [semaphores.request.eq(self.request), semaphores.wait.eq(self.wait),
                     semaphores.signal.eq(self.signal)]
        # A semaphore that exceeded its range is wrong until reset; so may be what waits for it.
        self._wrong = Signal(self._count)
        self._grants(m, semaphores)
        for index in range(self._count):
            self._count_one(m, semaphores, index)
        return m

    def _possible(self, semaphores, engine):
        present = Cat(value != 0 for value in semaphores.values)
        positive = Cat(present, Const(0, MASK_BITS - self._count))
        return self.request[engine] & ((self.wait[engine] & ~positive) == 0)

    def _grants(self, m, semaphores):
        grant, sound = semaphores.grant, ~self._wrong.any()
        possible = {engine: self._possible(semaphores, engine) for engine in ENGINES}
        m.d.comb += [
            holds((grant & (grant - 1))[:len(grant)] == 0),
            # Someone who can start does.
            holds(implies(sound & Cat(possible.values()).any(), grant)),
        ]
        for place, engine in enumerate(PRIORITY):
            m.d.comb += [
                holds(implies(sound & grant[engine], possible[engine])),
                # Who is granted had nobody of higher priority to leave the semaphores to.
                holds(implies(sound & grant[engine],
                              ~Cat(possible[e] for e in PRIORITY[:place]).any())),
            ]

    def _count_one(self, m, semaphores, index):
        signals = sum((self.signal[engine][index] for engine in Engine), Const(0, 1))
        takes = sum((semaphores.grant[engine] & self.wait[engine][index] for engine in ENGINES),
                    Const(0, 1))
        value = semaphores.values[index]
        # Signed and wide: neither below zero nor beyond the range can hide.
        total = Signal(signed(self._width + 4), name=f"total_{index}")
        m.d.comb += total.eq(value + signals - takes)
        beyond = total >= 1 << self._width
        signalled = Cat(self.signal[engine][index] for engine in Engine)
        wrong = self._wrong[index]
        m.d.sync += wrong.eq(wrong | beyond)
        m.d.comb += [
            # Not even for a cycle with a signal is more taken than is there.
            holds(implies(~wrong, value >= takes)),
            holds(implies(~wrong, value == past(m, total).as_signed())),
            # Beyond the range is a fault of each who signalled, and there is one.
            holds(implies(beyond, signalled)),
            holds(implies(past(m, beyond),
                          (semaphores.overflow & past(m, signalled)) == past(m, signalled))),
        ]


class OverflowProof(SemaphoreProof):
    """There is no overflow without a semaphore that exceeds its range."""

    def _count_one(self, m, semaphores, index):
        super()._count_one(m, semaphores, index)
        if index == 0:
            totals = [value + sum((self.signal[engine][place] for engine in Engine), Const(0, 1))
                      for place, value in enumerate(semaphores.values)]
            most = Cat(total >= 1 << self._width for total in totals).any()
            m.d.comb += holds(implies(~past(m, self._wrong.any()) & semaphores.overflow.any(),
                                  past(m, most)))


@pytest.mark.parametrize(("count", "width"), [(6, 2), (16, 8)])
def test_semaphores(count, width):
    prove(SemaphoreProof(count=count, width=width), f"semaphores_{count}", depth=2)


def test_overflow_has_a_cause():
    prove(OverflowProof(count=16, width=8), "semaphores_overflow", depth=2)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("two_take_at_once", "free = free & ~possible", "free = free & Const(1)"),
    ("takes_what_is_not_there", "possible.eq(self.request[engine] & (missing == 0))",
     "possible.eq(self.request[engine])"),
    ("forgets_a_signal", "total.eq(value + _ones(signals, less=less))",
     "total.eq(value - less if less else value + _ones(signals, less=0))"),
    ("takes_twice", "_ones(signals, less=less)", "_ones(signals, less=2 * less)"),
    ("wraps_unseen", "beyond.any()", "beyond[1]"),
    ("grants_for_a_count_of_0", "value[1:].any()", "value.any()"),
])
def test_broken_semaphores_are_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "semaphores", old, new)
    refute(SemaphoreProof(count=6, width=2), f"semaphores_{name}", depth=12)
