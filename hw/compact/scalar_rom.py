"""The chords of the scalar unit's functions."""
from amaranth import *
from amaranth.hdl import MemoryData, MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.isa import SCALAR_SEGMENTS, scalar_table

#: Words, a power of two.
DEPTH = 512
#: Edges of the chords of one function: a slope is the difference of two edges.
EDGES = SCALAR_SEGMENTS + 1


def edges() -> list[int]:
    """The bases of :func:`scalar_table`, each function's end added: ``EDGES`` a function."""
    table = scalar_table()
    result = []
    for first in range(0, len(table), SCALAR_SEGMENTS):
        bases = table[first:first + SCALAR_SEGMENTS]
        result += [base for base, _ in bases] + [bases[-1][0] - bases[-1][1]]
    return result


class ScalarRom(wiring.Component):
    """Members: ``address`` In(9), and ``data`` Out(16), its word, one cycle later."""

    def __init__(self):
        super().__init__({"address": In(range(DEPTH)), "data": Out(16)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = instance = MemoryInstance(
            data=MemoryData(shape=16, depth=DEPTH, init=edges()))
        instance.read_port(domain="sync", addr=self.address, data=self.data, en=Const(1),
                           transparent_for=())
        return m
