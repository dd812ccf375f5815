"""Delays without reset: data needs none, because valid bits travel with it."""
from amaranth import *
from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

#: From so many cycles and bits in all on, a delay is a ring in a small memory instead of a chain of
#: registers: in an FPGA that is a block RAM or distributed RAM, in simulation one write and one
#: read a cycle.
RING_CYCLES = 4
RING_BITS = 64


def register(m, value, name):
    """``value`` one cycle later, without reset. ``value`` may be an expression or a view."""
    result = Signal(value.shape(), name=name, reset_less=True)
    m.d.sync += result.eq(value)
    return result


def delayed(m, value, cycles, name):
    """``value`` a constant number of cycles later, in the form that is cheapest."""
    width = Shape.cast(value.shape()).width
    if cycles < RING_CYCLES or cycles * width < RING_BITS:
        for cycle in range(1, cycles + 1):
            value = register(m, value, f"{name}_{cycle}")
        return value
    m.submodules[f"{name}_ring"] = ring = Ring(width=width, cycles=cycles)
    result = Signal(value.shape(), name=f"{name}_late")
    m.d.comb += [ring.i.eq(value), result.eq(ring.o)]
    return result


class Ring(wiring.Component):
    """A constant delay in a memory. One word a cycle.

    Parameters
    ----------
    width : int
        Bits of a word, at least 1.
    cycles : int
        Cycles of latency, at least 2. What comes out sooner after power-up is undefined.
    """

    def __init__(self, *, width, cycles):
        if width < 1:
            raise ValueError(f"width must be at least 1, not {width}")
        if cycles < 2:
            raise ValueError(f"a ring delays by at least 2 cycles, not {cycles}")
        self._cycles = cycles
        super().__init__({"i": In(width), "o": Out(width)})

    @property
    def cycles(self):
        """Cycles of latency."""
        return self._cycles

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = Memory(shape=len(self.i), depth=self._cycles, init=[])
        write = words.write_port()
        read = words.read_port()
        place = Signal(range(self._cycles))
        following = Signal.like(place)
        # The word after the one being written is the oldest, written `cycles - 1` cycles ago; the
        # read port's register is the last cycle.
        m.d.comb += [
            following.eq(Mux(place == self._cycles - 1, 0, place + 1)),
            write.addr.eq(place), write.data.eq(self.i), write.en.eq(1),
            read.addr.eq(following), self.o.eq(read.data),
        ]
        m.d.sync += place.eq(following)
        return m
