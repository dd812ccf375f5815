"""Several streams become one, each in its turn."""
from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Merge(wiring.Component):
    """Offers one of its streams at a time, round robin, without a cycle of delay.

    Who waits is passed over at most once by each other stream. What is on offer stays until it is
    accepted; the choice does not depend on ``o.ready``.

    Parameters
    ----------
    width : int
        Bits of an element.
    count : int
        Number of streams, at least 1.

    Members
    -------
    i : In(stream).array(count)
        The streams.
    o : Out(stream)
        All of them.
    """

    def __init__(self, *, width, count):
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"Merge needs a number of streams of at least 1, not {count!r}")
        self._count = count
        super().__init__({"i": In(stream.Signature(width)).array(count),
                          "o": Out(stream.Signature(width))})

    def elaborate(self, platform):
        m = Module()
        request, grant, later, last = (Signal(self._count, name=name)
                                       for name in ("request", "grant", "later", "last"))
        held = Signal()  # `last` is on offer and was not accepted
        m.d.comb += [
            request.eq(Cat(each.valid for each in self.i)),
            # Those after the one that was served last come first; when none was, all do.
            later.eq(request & ~(last | (last - 1)) if self._count > 1 else 0),
            grant.eq(Mux(held, last, Mux(later.any(), _lowest(later), _lowest(request)))),
            self.o.valid.eq(request.any()),
            *(each.ready.eq(grant[index] & self.o.ready) for index, each in enumerate(self.i)),
        ]
        m.d.sync += held.eq(self.o.valid & ~self.o.ready)
        with m.If(self.o.valid):
            m.d.sync += last.eq(grant)
        # At most one is granted, so two of them fit into a LUT4; a choice by number would not.
        chosen = [Mux(bit, each.payload, 0) for bit, each in zip(grant, self.i, strict=True)]
        m.d.comb += self.o.payload.eq(reduce(or_, chosen))
        return m


def _lowest(bits):
    """The lowest of the bits that are set."""
    return (bits & -bits)[:len(bits)]
