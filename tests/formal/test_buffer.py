"""A buffer neither loses nor invents nor reorders, and with two registers it cuts both ways."""
import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.buffer import Buffer
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, prove, refute

WIDTH = 8


class BufferProof(wiring.Component):
    """Follows one element, of which ``follow`` decides which it is; before it is at most one.

    Parameters
    ----------
    depth : int
        Of the buffer.
    """

    def __init__(self, *, depth):
        self._depth = depth
        self._buffer = Buffer(shape=WIDTH, depth=depth)
        super().__init__({"i": In(stream.Signature(WIDTH)), "take": In(1), "follow": In(1)})

    def elaborate(self, platform):
        m = Module()
        buffer, inside = self._buffer, Inside(self._buffer)
        m.submodules.buffer = inside.fragment
        connect(m, flipped(self.i), buffer.i)
        m.d.comb += buffer.o.ready.eq(self.take)
        push, pop = buffer.i.valid & buffer.i.ready, buffer.o.valid & buffer.o.ready
        held, following, ahead = Signal(2), Signal(), Signal()
        element = Signal(WIDTH)
        m.d.sync += held.eq(held + push - pop)
        with m.If(push & self.follow & ~following):
            m.d.sync += [following.eq(1), element.eq(buffer.i.payload), ahead.eq(held - pop)]
        with m.Elif(following & pop):
            m.d.sync += [following.eq(ahead), ahead.eq(0)]
        full = held == self._depth
        m.d.comb += [
            holds(held <= self._depth), holds(buffer.o.valid == (held != 0)),
            holds(buffer.i.ready == (~full if self._depth == 2 else ~full | self.take)),
            holds(implies(following, ahead < held)),
            holds(implies(following & ~ahead, buffer.o.payload == element)),
        ]
        if self._depth == 2:
            m.d.comb += [holds(inside.signal("waits") == full),
                         holds(implies(following & ahead, inside.signal("second") == element))]
        return m


@pytest.mark.parametrize("depth", [1, 2])
def test_buffer(depth):
    prove(BufferProof(depth=depth), f"buffer_{depth}", depth=2)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("loses_the_second", "waits.eq(waits | self.i.valid)", "waits.eq(self.i.valid)"),
    ("accepts_a_third", "self.i.ready.eq(~waits)", "self.i.ready.eq(1)"),
    ("reorders", "Mux(waits, second, self.i.payload)", "self.i.payload"),
    ("forgets_what_waits", "with m.If(~waits):", "with m.If(1):"),
])
def test_a_broken_buffer_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "buffer", old, new)
    refute(BufferProof(depth=2), f"buffer_{name}", depth=6)
