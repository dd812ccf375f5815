"""A register in the way of words that come seldom."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Stage(wiring.Component):
    """Holds one word. Neither side depends on the other within a cycle.

    Latency is one cycle; it takes a word every second cycle at most.

    Parameters
    ----------
    shape : shape-like
        Shape of a word.

    Members
    -------
    i : In(stream), o : Out(stream)
        Words, in order.
    """

    def __init__(self, *, shape):
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.i.ready.eq(~self.o.valid)
        with m.If(self.i.ready):
            m.d.sync += [self.o.valid.eq(self.i.valid), self.o.payload.eq(self.i.payload)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
