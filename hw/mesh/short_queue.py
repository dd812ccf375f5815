"""A short queue whose oldest element can be taken in the cycle after it came."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class ShortQueue(wiring.Component):
    """A queue of ``depth`` elements in distributed RAM.

    One element in and one out a cycle, one cycle of latency. Neither side depends on the other
    within a cycle: a full queue takes nothing, even while an element leaves.

    Parameters
    ----------
    shape : shape-like
        Shape of an element.
    depth : int
        Elements held; a power of two, at least 2.

    Members
    -------
    i : In(stream)
        Ready while fewer than ``depth`` elements are held.
    o : Out(stream)
        The oldest element.

    Raises
    ------
    ValueError
        When ``depth`` is not a power of two of at least 2.
    """

    def __init__(self, *, shape, depth):
        if not isinstance(depth, int) or depth < 2 or depth & depth - 1:
            raise ValueError(
                f"ShortQueue depth must be a power of two of at least 2, not {depth!r}")
        self._shape, self._depth = shape, depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    @property
    def depth(self):
        """Elements held."""
        return self._depth

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = Memory(shape=self._shape, depth=self._depth, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        # One bit more than an address tells full from empty.
        produced, consumed = (Signal(self._depth.bit_length(), name=name)
                              for name in ("produced", "consumed"))
        push, pop = self.i.valid & self.i.ready, self.o.valid & self.o.ready
        m.d.comb += [
            self.i.ready.eq(produced ^ consumed != self._depth),
            self.o.valid.eq(produced != consumed),
            write.addr.eq(produced), write.data.eq(self.i.payload), write.en.eq(push),
            read.addr.eq(consumed), self.o.payload.eq(read.data),
        ]
        m.d.sync += [produced.eq(produced + push), consumed.eq(consumed + pop)]
        return m
