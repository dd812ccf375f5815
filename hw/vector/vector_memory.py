"""Vector memory: INT16 elements between passes, streams, and tables to be loaded."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.config import Region
from systolith.hw.interfaces import SystemPort
from systolith.hw.memory import MemoryRead
from systolith.hw.vector.shared_memory import SharedMemory, attach


class VectorWrite(wiring.Signature):
    """Write of one word of vector memory, always accepted."""

    def __init__(self, config):
        super().__init__({"valid": Out(1), "address": Out(range(config.vec_depth)),
                          "data": Out(data.ArrayLayout(signed(16), config.lanes))})


class VectorMemory(wiring.Component):
    """Words of ``lanes`` elements of INT16. One read and one write a cycle.

    Members
    -------
    read : In(MemoryRead)
        A word of ``lanes`` elements, latency ``source_latency``.
    write : In(VectorWrite)
        Readable in the next cycle.
    system : In(SystemPort)
        Host and mover; element ``l`` of word ``w`` is at byte ``2 * (w * lanes + l)``.
    """

    def __init__(self, *, config):
        self._config = config
        word = data.ArrayLayout(signed(16), config.lanes)
        super().__init__({"read": In(MemoryRead(config.vec_depth, word)),
                          "write": In(VectorWrite(config)),
                          "system": In(SystemPort(bus_bytes=config.bus_bytes))})

    def elaborate(self, platform):
        m = Module()
        config = self._config
        width = 8 * config.word_bytes(Region.VEC)
        shared = SharedMemory(word_bytes=width // 8, depth=config.vec_depth,
                              bus_bytes=config.bus_bytes, granularity=width,
                              read_cycles=config.read_cycles, port_cycles=config.port_cycles)
        attach(m, self, shared)
        m.d.comb += [
            shared.read.valid.eq(self.read.valid), shared.read.address.eq(self.read.address),
            self.read.data.eq(shared.read.data), shared.write.mask.eq(self.write.valid),
            shared.write.address.eq(self.write.address), shared.write.data.eq(self.write.data),
        ]
        return m
