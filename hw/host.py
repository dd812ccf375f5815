"""The host port of a core: decodes addresses and executes reads and writes of 32 bits."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.bus import BusMaster
from systolith.hw.config import (
    ADDRESS_BITS,
    CORE_SHIFT,
    MEMORIES,
    OFFSET_BITS,
    REGION_SHIFT,
    Region,
)
from systolith.hw.isa import ENGINES
from systolith.hw.registers import REGISTER_BYTES, RegisterPort


class HostRequest(data.StructLayout):
    """One access of the host: ``address`` in bytes, ``data`` for writes."""

    def __init__(self):
        super().__init__({"write": 1, "address": ADDRESS_BITS, "data": 32})


def host_bytes(config):
    """Bytes of each region, as the host reaches them: dict of int by Region, in address order."""
    return {Region.REGISTERS: REGISTER_BYTES, Region.QUEUES: 4 * len(ENGINES),
            **{region: config.region_bytes(region) for region in MEMORIES}}


def allowed(m, config, access):
    """Whether a core can execute an access, whichever core its address names.

    Parameters
    ----------
    m : Module
        Gets the logic.
    config : :class:`Config`
        Sizes of the memories.
    access : HostRequest

    Returns
    -------
    Value
        One bit.
    """
    inside = Signal()
    region, offset = access.address[REGION_SHIFT:CORE_SHIFT], access.address[:OFFSET_BITS]
    for target, limit in host_bytes(config).items():
        with m.If(region == target):
            m.d.comb += inside.eq(offset < limit)
    direction = Mux(access.write, region != Region.ACC, region != Region.QUEUES)
    return inside & direction & (access.address[:2] == 0)


class HostPort(wiring.Component):
    """Executes the host's requests one after another.

    A write to a register or a queue takes one cycle, one to a memory as long as bus and memory
    make it wait; so one write a cycle is the rule. A read is answered 4 (register) or 5 (memory)
    cycles after its request when nothing waits, the bus included.

    Every read is answered. An access that is misaligned, to another core than 0, beyond the end of
    a memory or of the registers, a write to ACC, a read of QUEUES, or a write beside the queues
    raises ``fault`` and has no other effect; a read then gives 0.

    Parameters
    ----------
    config : :class:`Config`
        Sizes of the memories.

    Members
    -------
    request : In(stream of HostRequest)
        In order.
    response : Out(stream of 32 bits)
        What was read, in order.
    registers : Out(RegisterPort)
        The registers.
    push : Out(3), word : Out(32), full : In(3)
        Bit e of ``push``: push ``word`` into the queue of engine e, which is not full.
    overrun : Out(3)
        Bit e: the host wrote to the queue of engine e, which is full.
    bus : Out(BusMaster)
        The memories.
    hold : In(1)
        Execute nothing.
    fault : Out(1)
        An access was in error.
    """

    def __init__(self, *, config):
        self._config = config
        super().__init__({
            "request": In(stream.Signature(HostRequest())),
            "response": Out(stream.Signature(32)),
            "registers": Out(RegisterPort()),
            "push": Out(len(ENGINES)), "word": Out(32), "full": In(len(ENGINES)),
            "overrun": Out(len(ENGINES)),
            "bus": Out(BusMaster(bus_bytes=config.bus_bytes)),
            "hold": In(1), "fault": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        present, active, done = (Signal(name=name) for name in ("present", "active", "done"))
        access = Signal(HostRequest())
        region, offset = Signal(Region), Signal(OFFSET_BITS)
        # Of the request that is taken: what it leads to must not wait for comparisons.
        good = Signal()
        memory = Signal()  # and it is to a memory
        self._waiting = Signal()
        m.d.comb += [
            region.eq(access.address[REGION_SHIFT:CORE_SHIFT]), offset.eq(access.address),
            # A read needs the place for its answer before it starts.
            active.eq(present & ~self.hold & (access.write | ~self.response.valid)),
            self.request.ready.eq(~present | done),
            self.fault.eq(active & done & ~good),
        ]
        with m.If(self.request.ready):
            allowed_now, address = self._good(m, self.request.p), self.request.p.address
            m.d.sync += [
                present.eq(self.request.valid), access.eq(self.request.payload),
                good.eq(allowed_now), memory.eq(allowed_now & Cat(
                    address[REGION_SHIFT:CORE_SHIFT] == one for one in MEMORIES).any())]
        with m.If(self.response.ready):
            m.d.sync += self.response.valid.eq(0)
        answer = Signal(32)
        with m.If(active & ~good):
            m.d.comb += done.eq(1)
        with m.Elif(region == Region.REGISTERS):
            # The registers answer one cycle after they have been asked; another one lets a fault
            # of the write before this read be seen.
            asked = Signal()
            m.d.comb += [done.eq(active & (access.write | asked)),
                         answer.eq(self.registers.read_data)]
            m.d.sync += [self._waiting.eq(active & ~done), asked.eq(self._waiting & ~done)]
        with m.Elif(region == Region.QUEUES):
            m.d.comb += done.eq(active)
        with m.Else():
            self._memory(m, access, done, answer)
        with m.If(done & ~access.write):
            m.d.sync += [self.response.valid.eq(1), self.response.payload.eq(answer)]
        self._ask_memory(m, active & memory, access, region, offset)
        self._registers(m, active & good & (region == Region.REGISTERS), access, offset)
        self._queues(m, active & good & (region == Region.QUEUES), access, offset)
        return m

    def _good(self, m, access):
        """Whether an access is allowed, and to this core."""
        return allowed(m, self._config, access) & (access.address[CORE_SHIFT:] == 0)

    def _registers(self, m, selected, access, offset):
        m.d.comb += [
            self.registers.write.eq(selected & access.write),
            self.registers.address.eq(offset), self.registers.data.eq(access.data),
        ]

    def _queues(self, m, selected, access, offset):
        m.d.comb += self.word.eq(access.data)
        for engine in ENGINES:
            with m.If(selected & (offset[2:4] == engine)):
                m.d.comb += [self.push[engine].eq(~self.full[engine]),
                             self.overrun[engine].eq(self.full[engine])]

    def _lane(self, offset):
        return offset[2:2 + (self._config.bus_bytes // 4 - 1).bit_length()]

    def _ask_memory(self, m, active, access, region, offset):
        m.d.comb += [
            self.bus.valid.eq(active & ~self._waiting), self.bus.write.eq(access.write),
            self.bus.region.eq(region),
            self.bus.address.eq(offset & ~(self._config.bus_bytes - 1)),
            self.bus.mask.eq(Const(15, 4) << (self._lane(offset) << 2)),
            self.bus.data.eq(access.data.replicate(self._config.bus_bytes // 4)),
        ]

    def _memory(self, m, access, done, answer):
        waiting, asked = self._waiting, self.bus.valid & self.bus.ready
        m.d.comb += answer.eq(self.bus.read_data.word_select(self._lane(access.address), 32))
        with m.If(access.write):
            m.d.comb += done.eq(asked)
        with m.Else():
            m.d.comb += done.eq(waiting & self.bus.answer)
            m.d.sync += waiting.eq((waiting | asked) & ~done)
