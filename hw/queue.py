"""A first-in first-out queue, in block RAM or in distributed RAM."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class Queue(wiring.Component):
    """A queue of ``depth`` elements. One element in and one out a cycle.

    Neither side depends on the other within a cycle: a full queue takes nothing, even while an
    element leaves. Latency is two cycles from block RAM, one from distributed RAM.

    Parameters
    ----------
    shape : shape-like
        Shape of an element.
    depth : int
        Elements held; a power of two, at least 2.
    distributed : bool
        Hold them in distributed RAM, which pays for a few elements, instead of block RAM.

    Members
    -------
    i : In(stream)
        Ready while fewer than ``depth`` elements are held.
    o : Out(stream)
        The oldest element. The payload comes straight from the memory's output: a register of block
        RAM, but the cells of distributed RAM.
    space : Out(range(depth + 1))
        Elements that can still be pushed.
    empty : Out(1)
        No element is held, ``space == depth``. A register.

    Raises
    ------
    ValueError
        When ``depth`` is not a power of two of at least 2.
    """

    def __init__(self, *, shape, depth, distributed=False):
        if not isinstance(depth, int) or depth < 2 or depth & depth - 1:
            raise ValueError(f"Queue depth must be a power of two of at least 2, not {depth!r}")
        self._shape = shape
        self._depth = depth
        self._distributed = distributed
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
            "space": Out(range(depth + 1)), "empty": Out(1, init=1),
        })

    @property
    def depth(self):
        """Elements held."""
        return self._depth

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = Memory(shape=self._shape, depth=self._depth, init=[])
        write = words.write_port()
        # One bit more than an address tells full from empty.
        width = self._depth.bit_length()
        produced, consumed = (Signal(width, name=name) for name in ("produced", "consumed"))
        level = Signal(width)  # a register: `produced - consumed`, ahead of the ready bit
        full = Signal()
        push, pop = self.i.valid & self.i.ready, self.o.valid & self.o.ready
        m.d.comb += [
            self.space.eq(self._depth - level), self.i.ready.eq(~full),
            write.addr.eq(produced), write.data.eq(self.i.payload), write.en.eq(push),
        ]
        # Whether an element comes or leaves is known late: it chooses among what is known early.
        m.d.sync += [self.empty.eq(~push & (self.empty | (pop & (level == 1)))),
                     full.eq(~pop & (full | (push & (level == self._depth - 1))))]
        with m.If(push):
            m.d.sync += produced.eq(produced + 1)
        with m.If(push != pop):
            m.d.sync += level.eq(Mux(push, level + 1, level - 1)[:width])
        read = self._from_cells if self._distributed else self._from_register
        read(m, words, produced=produced, consumed=consumed, pop=pop)
        return m

    def _from_cells(self, m, words, *, produced, consumed, pop):
        read = words.read_port(domain="comb")
        m.d.comb += [read.addr.eq(consumed), self.o.payload.eq(read.data),
                     self.o.valid.eq(consumed != produced)]
        m.d.sync += consumed.eq(consumed + pop)

    def _from_register(self, m, words, *, produced, consumed, pop):
        """The next element is read ahead, so it is there in the cycle after a pop. An element that
        is pushed in this cycle is not in the memory yet: `produced` does not count it."""
        read = words.read_port()
        next_consumed, following = Signal(len(consumed)), Signal(len(consumed))
        m.d.comb += [following.eq(consumed + 1), next_consumed.eq(Mux(pop, following, consumed)),
                     read.addr.eq(next_consumed), read.en.eq(1), self.o.payload.eq(read.data)]
        m.d.sync += [consumed.eq(next_consumed),
                     self.o.valid.eq(Mux(pop, following != produced, consumed != produced))]
