"""The microprogrammed engine: it serves the host, decodes commands and does all but products."""
from amaranth import *
from amaranth.hdl import MemoryData, MemoryInstance
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.compact.alu import Alu
from systolith.hw.compact.instructions import (
    CODE_BITS,
    EXECUTED_BITS,
    GROUPS,
    OUT_COUNT,
    OUT_STATUS,
    REGISTERS,
    SOURCES,
    Condition,
    Group,
    Op,
    Source,
    View,
)
from systolith.hw.compact.memories import EngineAccess
from systolith.hw.host import HostRequest


class Engine(wiring.Component):
    """Two cycles an instruction, three a branch that asks A or its flags; more where it repeats or
    waits for a memory.

    In the first its register is read, and what it needs is decoded. In the second the operand is
    chosen and ``ST`` done; the address of the next instruction goes to the code. All other
    operations are executed during the next instruction's first cycle, which lasts until they are
    done; ``RD`` takes a cycle after that of the memory. Whether a branch is taken is found before
    its second cycle: where it asks what the operation before it made, in a cycle in between.

    Reads of STATUS are answered beside the microprogram, so polling costs no time.

    Parameters
    ----------
    code : sequence of int
        Instructions, at most ``2 ** CODE_BITS``. It starts at the first after a reset.
    constants : sequence of int
        What the registers hold at power-up; a reset leaves them.
    status_address : int
        Where the host reads STATUS.

    Members
    -------
    host_request : In(stream of HostRequest), host_response : Out(stream of 32 bits)
        The host.
    access : Out(EngineAccess)
        The memories.
    setup : Out(1), place : Out(4), data : Out(32)
        Products, see :class:`CompactLoops`.
    busy : In(1)
        A product runs.
    """

    def __init__(self, *, code, constants, status_address):
        self._code, self._constants = list(code), list(constants)
        self._status_address = status_address
        super().__init__({
            "host_request": In(stream.Signature(HostRequest())),
            "host_response": Out(stream.Signature(32)),
            "access": Out(EngineAccess()), "setup": Out(1), "place": Out(4), "data": Out(32),
            "busy": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.alu = self._alu = Alu()
        self._word = Signal(16)  # the instruction
        self._late = Signal()  # its second cycle
        self._op = Signal(EXECUTED_BITS)  # what is executed
        self._operand = Signal(32)
        self._done = Signal()
        self._read = Signal()  # the memory has taken the address, and now the word is there
        self._return = Signal(CODE_BITS)
        self._cycles = Signal(32)
        self._status = Signal(32)
        self._seen = Signal()  # a request of the host was there in the cycle before
        self._polled = Signal()  # the host's request, seen in the cycle before, is for STATUS
        self._fetch(m)
        self._decode(m, self._view(m, self._source(m, self._registers(m))))
        self._execute(m)
        self._memory(m)
        self._host(m)
        return m

    def _registers(self, m):
        """What the register of the instruction holds, in its second cycle."""
        m.submodules.registers = instance = MemoryInstance(
            data=MemoryData(shape=32, depth=REGISTERS, init=self._constants))
        value = Signal(32)
        write = Signal()
        m.d.comb += write.eq(self._late & self._is(Op.ST))
        instance.write_port(domain="sync", addr=self._word[:8], data=self._alu.a, en=write)
        instance.read_port(domain="sync", addr=self._word[:8], data=value, en=~self._late,
                           transparent_for=())
        return value

    def _is(self, op):
        return self._word[10:] == op

    def _fetch(self, m):
        """Address of the next instruction, and which of the two cycles this is."""
        m.submodules.code = instance = MemoryInstance(
            data=MemoryData(shape=16, depth=1 << CODE_BITS, init=self._code))
        here = Signal(CODE_BITS)
        following = Signal(CODE_BITS)
        started = Signal()
        # From the cycle before: where the next one is, and whether it is elsewhere.
        after, taken, goes = Signal(CODE_BITS), Signal(), Signal()
        asks, asked = Signal(), Signal()  # a branch asks A or its flags; they were there
        word = self._word
        instance.read_port(domain="sync", addr=following, data=word, en=self._late | ~started,
                           transparent_for=())
        m.d.sync += [taken.eq(0), goes.eq(self._is(Op.GO)), asked.eq(~self._late & self._done),
                     after.eq(Mux(self._is(Op.RET), self._return, here + 1))]
        with m.Switch(word[11:]):
            for condition, value in self._conditions(m).items():
                with m.Case(1 << 4 | condition):
                    m.d.sync += taken.eq(value)
        m.d.comb += [
            asks.eq(word[15] & (word[11:15] >= Condition.ZERO)),
            following.eq(Mux(goes, self._alu.a, Mux(taken, word, after))),
        ]
        with m.If(~started):
            m.d.comb += following.eq(0)
            m.d.sync += started.eq(1)
        with m.Elif(self._late):
            m.d.sync += [here.eq(following), self._late.eq(0)]
            with m.If(word[11:] == (1 << 4 | Condition.CALL)):
                m.d.sync += self._return.eq(after)
        with m.Else():
            m.d.sync += self._late.eq(self._done & (~asks | asked))

    def _conditions(self, m):
        """Those of host and array come a cycle late, which is soon enough."""
        alu = self._alu
        quiet = Signal()
        busy = Signal()
        m.d.sync += [quiet.eq(~self._seen | self._polled | self.host_response.valid),
                     busy.eq(self.busy)]
        return {
            Condition.ALWAYS: Const(1, 1), Condition.CALL: Const(1, 1),
            Condition.ZERO: alu.a == 0, Condition.NONZERO: alu.a != 0,
            Condition.NEGATIVE: alu.a[31], Condition.POSITIVE: ~alu.a[31],
            Condition.LESS: alu.less, Condition.CARRY: alu.carry,
            Condition.QUIET: quiet, Condition.BUSY: busy, Condition.EVEN: ~alu.a[0],
        }

    def _source(self, m, register):
        """The register, or what stands for it; the choice was decoded in the cycle before."""
        special = Signal()
        # What does not change with the operation that is executed can be fetched before it ends.
        early = Signal(32)
        uses_register, uses_fraction = Signal(), Signal()
        source = self._word[:8]
        m.d.comb += special.eq(self._word[4:8] == SOURCES >> 4)
        m.d.sync += [
            early.eq(0), uses_register.eq(~special),
            uses_fraction.eq(special & (source[:3] == Source.FRACTION & 7)),
        ]
        with m.If(special):
            with m.Switch(source[:3]):
                for number, value in self._early_sources().items():
                    with m.Case(number & 7):
                        m.d.sync += early.eq(value)
        return ((register & uses_register.replicate(32))
                | (self._alu.fraction & uses_fraction.replicate(16)) | early)

    def _early_sources(self):
        request = self.host_request.p
        return {
            Source.HOST_ADDRESS: Cat(request.address, request.write),
            Source.HOST_DATA: request.data, Source.CYCLES: self._cycles,
            Source.RETURN: self._return,
        }

    def _view(self, m, source):
        """The part of it that the instruction wants, inverted where it is subtracted."""
        view = self._word[8:10]
        high, whole, inverted = (Signal(name=name) for name in ("high", "whole", "inverted"))
        m.d.sync += [
            high.eq(view == View.HIGH), whole.eq(view == View.WORD),
            inverted.eq(self._is(Op.SUB) | self._is(Op.CMP)),
        ]
        low = Mux(high, source[16:], source[:16])
        return Cat(low, source[16:] & whole.replicate(16)) ^ inverted.replicate(32)

    def _decode(self, m, operand):
        """What is executed in the next cycles."""
        ops = [self._is(op) for op in Op]
        groups = [Cat(ops[op] for op in GROUPS[group]).any() for group in Group]
        with m.If(self._late):
            m.d.sync += [self._operand.eq(operand), self._op.eq(Cat(*ops, *groups))]
        with m.Elif(self._done):
            m.d.sync += self._op.eq(0)

    def _execute(self, m):
        alu = self._alu
        counting = Signal()
        beyond = Signal(6)
        with m.If(self._late):
            m.d.sync += beyond.eq(self._word)
        m.d.comb += [alu.op.eq(self._op), alu.operand.eq(self._operand),
                     alu.loaded.eq(self.access.read_data),
                     self._done.eq(alu.done & (self.access.ready | ~self.access.valid)
                                   & ~(self._op[Op.RD] & ~self._read)),
                     self.place.eq(beyond), self.data.eq(alu.a),
                     self.setup.eq(self._op[Op.OUT] & ~(beyond & (OUT_COUNT | OUT_STATUS)).any())]
        with m.If(self._op[Op.OUT] & (beyond & OUT_COUNT).any()):
            m.d.sync += counting.eq(alu.a[0])
        with m.If(self._op[Op.OUT] & (beyond & OUT_STATUS).any()):
            m.d.sync += self._status.eq(alu.a)
        with m.If(counting):
            m.d.sync += self._cycles.eq(self._cycles + 1)

    def _memory(self, m):
        access, a, op = self.access, self._alu.a, self._op
        half, byte = op[Op.WRH], op[Op.WRB]
        place = self._operand[:2]
        m.d.sync += self._read.eq(op[Op.RD] & access.valid & access.ready)
        m.d.comb += [
            access.valid.eq(op[Group.ACCESSING] & ~self._read), access.write.eq(~op[Op.RD]),
            access.address.eq(self._operand),
            access.data.eq(Cat(a[:8], Mux(byte, a[:8], a[8:16]),
                               Mux(half | byte, a[:8], a[16:24]),
                               Mux(byte, a[:8], Mux(half, a[8:16], a[24:])))),
            access.mask.eq(Mux(byte, 1 << place, Mux(half, Mux(place[1], 12, 3), 15))),
        ]

    def _host(self, m):
        request = self.host_request
        response = self.host_response
        answers = Signal()
        m.d.sync += [
            self._seen.eq(request.valid & ~request.ready),
            self._polled.eq(Cat(request.p.address, request.p.write) == self._status_address)]
        m.d.comb += answers.eq(self._seen & self._polled & ~response.valid)
        # A register: the host's side has much to do with it in the same cycle.
        m.d.sync += request.ready.eq(self._op[Op.ACK] | self._op[Op.REPLY] | answers)
        with m.If(response.ready):
            m.d.sync += response.valid.eq(0)
        with m.If(answers | self._op[Op.REPLY]):
            m.d.sync += [response.valid.eq(1),
                         response.payload.eq(Mux(answers, self._status, self._alu.a))]
