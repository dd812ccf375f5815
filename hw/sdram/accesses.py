"""A short queue of accesses to an SDRAM that knows which banks they need."""
from itertools import pairwise

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.sdram.interface import SdramAccess
from systolith.hw.sdram.timing import BANKS


class Accesses(wiring.Component):
    """A queue in registers. One access in and one out a cycle, one cycle of latency.

    Parameters
    ----------
    chip : SdramChip
        Geometry.
    depth : int
        Accesses held.

    Members
    -------
    i : In(stream of SdramAccess)
        Ready while fewer than ``depth`` are held.
    o : Out(stream of SdramAccess)
        The oldest.
    banks : Out(BANKS)
        For each bank, whether an access to it is held.
    """

    def __init__(self, *, chip, depth):
        self._chip, self._depth = chip, depth
        access = stream.Signature(SdramAccess(chip))
        super().__init__({"i": In(access), "o": Out(access), "banks": Out(BANKS)})

    def elaborate(self, platform):
        m = Module()
        shape = SdramAccess(self._chip)
        held = [Signal(shape, name=f"held_{index}") for index in range(self._depth)]
        level = Signal(range(self._depth + 1))
        after = Signal.like(level)  # without the access that leaves
        push, pop = self.i.valid & self.i.ready, self.o.valid & self.o.ready
        m.d.comb += [
            self.i.ready.eq(level != self._depth), self.o.valid.eq(level != 0),
            self.o.payload.eq(held[0]), after.eq(level - pop),
        ]
        m.d.sync += level.eq(after + push)
        with m.If(pop):
            m.d.sync += [each.eq(following)
                         for each, following in pairwise(held)]
        for index, each in enumerate(held):
            with m.If(push & (after == index)):
                m.d.sync += each.eq(self.i.payload)
            with m.If(level > index):
                m.d.comb += self.banks.bit_select(each.bank, 1).eq(1)
        return m
