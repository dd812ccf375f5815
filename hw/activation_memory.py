"""Activation memory: the left operands, one word of ``rows`` bytes for each beat of the array."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In
from amaranth.utils import exact_log2

from systolith.hw.config import Config, Region
from systolith.hw.interfaces import ActivationWritePort, SystemPort
from systolith.hw.memory import Memory, MemoryRead, operand_latency
from systolith.hw.one_hot import one_hot, placed
from systolith.hw.system_answer import SystemAnswer


class ActivationMemory(wiring.Component):
    """Words of ``rows`` bytes; byte ``r`` of a word belongs to row ``r`` of the array.

    One read and one write a cycle. The array reads and the vector unit writes without ever
    waiting; host, mover and mesh get the cycles that are left. Byte ``r`` of word ``w`` has the
    system address ``w * rows + r``.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    array : In(MemoryRead(act_depth, ArrayLayout(8, rows)))
        Reads of the array, latency :func:`operand_latency`.
    write : In(ActivationWritePort)
        Writes of the vector unit, readable from the next cycle on.
    system : In(SystemPort)
        Host, mover and mesh.
    """

    def __init__(self, *, config):
        if not isinstance(config, Config):
            raise TypeError(f"config must be a Config, not {config!r}")
        self._config = config
        super().__init__({
            "array": In(MemoryRead(config.act_depth, data.ArrayLayout(8, config.rows))),
            "write": In(ActivationWritePort(config)),
            "system": In(SystemPort(bus_bytes=config.bus_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        config, system = self._config, self.system
        lanes = config.rows // config.bus_bytes
        word_lsb = exact_log2(config.word_bytes(Region.ACT))
        read, write = system.read, system.write
        (read_lane, read_word), (write_lane, write_word) = (
            (address[exact_log2(config.bus_bytes):word_lsb],
             address[word_lsb:word_lsb + exact_log2(config.act_depth)])
            for address in (read.address, write.address))
        m.submodules.memory = memory = Memory(width=8 * config.rows, depth=config.act_depth,
                                              port_cycles=config.port_cycles)
        m.submodules.answer = answer = SystemAnswer(word_bytes=config.rows,
                                                    bus_bytes=config.bus_bytes,
                                                    word_latency=operand_latency(config),
                                                    latency=config.system_read_latency)
        late = Signal(8 * config.rows, reset_less=True)
        m.d.sync += late.eq(memory.read.data)
        m.d.comb += [
            read.ready.eq(~self.array.valid), write.ready.eq(~self.write.valid),
            answer.accept.eq(read.valid & read.ready),
            answer.lane.eq(read_lane),
            answer.word.eq(late),
            read.data.eq(answer.read_data),
            memory.read.valid.eq(self.array.valid | answer.accept),
            memory.read.address.eq(Mux(self.array.valid, self.array.address, read_word)),
            self.array.data.eq(late),
        ]
        with m.If(self.write.valid):
            m.d.comb += [
                memory.write.mask.eq(self.write.mask),
                memory.write.address.eq(self.write.address),
                memory.write.data.eq(self.write.data.as_value().replicate(
                    config.rows // config.lanes)),
            ]
        with m.Else():
            mask = Mux(write.valid, write.mask, 0)
            m.d.comb += [
                memory.write.mask.eq(placed(mask, one_hot(m, write_lane, lanes, name="lane"))),
                memory.write.address.eq(write_word),
                memory.write.data.eq(write.data.replicate(lanes)),
            ]
        return m
