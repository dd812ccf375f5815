"""A memory that the vector unit shares with host, mover and mesh."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped
from amaranth.utils import exact_log2

from systolith.hw.config import system_latency
from systolith.hw.interfaces import SystemPort
from systolith.hw.memory import READ_LATENCY, Memory, MemoryRead, MemoryWrite
from systolith.hw.one_hot import one_hot, placed
from systolith.hw.system_answer import SystemAnswer
from systolith.hw.vector.delay import delayed


class SharedMemory(wiring.Component):
    """One read and one write a cycle; the vector unit never waits, the system gets what is left.

    Parameters
    ----------
    word_bytes : int
        Bytes of a word, a power of two, at least ``bus_bytes``.
    depth : int
        Words, a power of two.
    bus_bytes : int
        Bytes of the system bus.
    granularity : int
        Bits that share a bit of the vector unit's write mask, a multiple of 8.
    read_cycles : int
        Cycles from an address at the block RAM to the data, 1 or 2.
    port_cycles : int
        Registers in front of the memory's ports, 0 or 1.

    Members
    -------
    read : In(MemoryRead)
        The vector unit's reads, latency ``read_cycles + port_cycles``.
    write : In(MemoryWrite)
        The vector unit's writes, readable in the next cycle.
    system : In(SystemPort)
        Host, mover and mesh. Byte ``b`` of word ``w`` has address ``w * word_bytes + b``.
    """

    def __init__(self, *, word_bytes, depth, bus_bytes, granularity=8,
                 read_cycles=READ_LATENCY, port_cycles=0):
        if bus_bytes > word_bytes:
            raise ValueError(
                f"bus_bytes must be at most word_bytes ({word_bytes}), not {bus_bytes}")
        if granularity % 8:
            raise ValueError(f"granularity must be a multiple of 8, not {granularity}")
        self._word_bytes, self._depth, self._bus_bytes = word_bytes, depth, bus_bytes
        self._bytes_a_bit = granularity // 8
        self._read_cycles, self._port_cycles = read_cycles, port_cycles
        super().__init__({
            "read": In(MemoryRead(depth, 8 * word_bytes)),
            "write": In(MemoryWrite(depth, 8 * word_bytes, granularity)),
            "system": In(SystemPort(bus_bytes=bus_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        system, lanes = self.system, self._word_bytes // self._bus_bytes
        m.submodules.memory = memory = Memory(width=8 * self._word_bytes, depth=self._depth,
                                              port_cycles=self._port_cycles)
        m.submodules.answer = answer = SystemAnswer(
            word_bytes=self._word_bytes, bus_bytes=self._bus_bytes,
            word_latency=self._read_cycles + self._port_cycles,
            latency=system_latency(self._port_cycles))
        data = delayed(m, memory.read.data, self._read_cycles - READ_LATENCY, "late")
        parts = exact_log2(lanes)
        first = exact_log2(self._bus_bytes)
        (read_lane, read_word), (write_lane, write_word) = (
            (address[first:first + parts],
             address[first + parts:first + parts + exact_log2(self._depth)])
            for address in (system.read.address, system.write.address))
        system_reads, system_writes = Signal(), Signal()
        m.d.comb += [
            system.read.ready.eq(~self.read.valid), system.write.ready.eq(self.write.mask == 0),
            system_reads.eq(system.read.valid & system.read.ready),
            system_writes.eq(system.write.valid & system.write.ready),
            answer.accept.eq(system_reads), answer.lane.eq(read_lane),
            answer.word.eq(data), system.read.data.eq(answer.read_data),
            memory.read.valid.eq(self.read.valid | system_reads),
            memory.read.address.eq(Mux(self.read.valid, self.read.address, read_word)),
            self.read.data.eq(data),
        ]
        with m.If(system_writes):
            hot = one_hot(m, write_lane, lanes, name="lane")
            m.d.comb += [memory.write.mask.eq(placed(system.write.mask, hot)),
                         memory.write.address.eq(write_word),
                         memory.write.data.eq(system.write.data.replicate(lanes))]
        with m.Else():
            mask = Cat(bit.replicate(self._bytes_a_bit) for bit in self.write.mask)
            m.d.comb += [memory.write.mask.eq(mask), memory.write.address.eq(self.write.address),
                         memory.write.data.eq(self.write.data)]
        return m


def attach(m, component, memory):
    """Give a component's ``system`` port to the shared memory inside it."""
    m.submodules.shared = memory
    connect(m, flipped(component.system), memory.system)
