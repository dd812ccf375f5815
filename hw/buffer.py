"""Registers in the way of a stream."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Buffer(wiring.Component):
    """Holds one element or two; latency is one cycle, and one element passes a cycle.

    With two, neither side depends on the other within a cycle: it cuts the paths of both
    directions. With one, ``i.ready`` depends on ``o.ready``.

    Parameters
    ----------
    shape : shape-like
        Shape of an element.
    depth : int
        Elements held, 1 or 2.

    Members
    -------
    i : In(stream), o : Out(stream)
        Elements, in order. ``o.valid`` and ``o.payload`` come from registers, and with a depth of
        2 ``i.ready`` too.

    Raises
    ------
    ValueError
        When ``depth`` is neither 1 nor 2.
    """

    def __init__(self, *, shape, depth=2):
        if depth not in (1, 2):
            raise ValueError(f"Buffer depth must be 1 or 2, not {depth!r}")
        self._depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        element, moves = self.o.payload, Signal()
        m.d.comb += moves.eq(~self.o.valid | self.o.ready)
        if self._depth == 1:
            m.d.comb += self.i.ready.eq(moves)
            with m.If(moves):
                m.d.sync += [self.o.valid.eq(self.i.valid), element.eq(self.i.payload)]
            return m
        waits = Signal()  # an element waits behind that of `o`
        # Nobody looks at it when it is not there.
        second = Signal.like(self.o.payload, reset_less=True)
        m.d.comb += self.i.ready.eq(~waits)
        with m.If(~waits):
            m.d.sync += second.eq(self.i.payload)
        with m.If(moves):
            m.d.sync += [self.o.valid.eq(waits | self.i.valid), waits.eq(0),
                         element.eq(Mux(waits, second, self.i.payload))]
        with m.Else():
            m.d.sync += waits.eq(waits | self.i.valid)
        return m
