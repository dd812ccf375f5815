"""Row memory: one 32-bit constant a row, written by reductions."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw.interfaces import SystemPort
from systolith.hw.memory import MemoryRead
from systolith.hw.vector.delay import delayed
from systolith.hw.vector.shared_memory import SharedMemory, attach


class RowWrite(wiring.Signature):
    """Write of one row constant, always accepted."""

    def __init__(self, config):
        super().__init__({"valid": Out(1), "address": Out(range(config.row_depth)),
                          "data": Out(32)})


class RowMemory(wiring.Component):
    """Constants of 32 bits, kept in words as wide as the system bus. One read and write a cycle.

    Members
    -------
    read : In(MemoryRead)
        A constant, latency ``source_latency``.
    write : In(RowWrite)
        Readable in the next cycle.
    system : In(SystemPort)
        Host and mover; constant ``r`` is at byte ``4 * r``.
    """

    def __init__(self, *, config):
        self._config = config
        super().__init__({"read": In(MemoryRead(config.row_depth, 32)),
                          "write": In(RowWrite(config)),
                          "system": In(SystemPort(bus_bytes=config.bus_bytes))})

    def elaborate(self, platform):
        m = Module()
        entries = self._config.bus_bytes // 4
        shared = SharedMemory(word_bytes=4 * entries, depth=self._config.row_depth // entries,
                              bus_bytes=4 * entries, granularity=32,
                              read_cycles=self._config.read_cycles,
                              port_cycles=self._config.port_cycles)
        attach(m, self, shared)
        place = exact_log2(entries)
        m.d.comb += [
            shared.read.valid.eq(self.read.valid),
            shared.read.address.eq(self.read.address[place:]),
            shared.write.address.eq(self.write.address[place:]),
            shared.write.data.eq(self.write.data.replicate(entries)),
        ]
        if entries == 1:
            m.d.comb += [self.read.data.eq(shared.read.data),
                         shared.write.mask.eq(self.write.valid)]
        else:
            read_place = delayed(m, self.read.address[:place], self._config.source_latency,
                                 "read_place")
            m.d.comb += [
                self.read.data.eq(shared.read.data.word_select(read_place, 32)),
                shared.write.mask.eq(self.write.valid << self.write.address[:place]),
            ]
        return m
