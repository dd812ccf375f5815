"""Constant memory: bias and scale word of each column."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from systolith.hw.config import Region
from systolith.hw.interfaces import SystemPort
from systolith.hw.memory import MemoryRead
from systolith.hw.vector.scale_word import SCALE_WORD
from systolith.hw.vector.shared_memory import SharedMemory, attach

#: Constants of one column; the upper bits of the scale's 32-bit word are ignored.
COLUMN = data.StructLayout({"bias": signed(32), "scale": SCALE_WORD, "ignored": 10})


class ConstantMemory(wiring.Component):
    """Words of ``lanes`` columns, written by host and mover only. One read a cycle.

    Members
    -------
    read : In(MemoryRead)
        Constants of ``lanes`` columns (``COLUMN``), latency ``source_latency``.
    system : In(SystemPort)
        Host and mover; column ``l`` of word ``w`` is at byte ``8 * (w * lanes + l)``, the bias
        first.
    """

    def __init__(self, *, config):
        self._config = config
        word = data.ArrayLayout(COLUMN, config.lanes)
        super().__init__({"read": In(MemoryRead(config.const_depth, word)),
                          "system": In(SystemPort(bus_bytes=config.bus_bytes))})

    def elaborate(self, platform):
        m = Module()
        config = self._config
        width = 8 * config.word_bytes(Region.CONST)
        shared = SharedMemory(word_bytes=width // 8, depth=config.const_depth,
                              bus_bytes=config.bus_bytes, granularity=width,
                              read_cycles=config.read_cycles, port_cycles=config.port_cycles)
        attach(m, self, shared)
        m.d.comb += [
            shared.read.valid.eq(self.read.valid), shared.read.address.eq(self.read.address),
            self.read.data.eq(shared.read.data),
        ]
        return m
