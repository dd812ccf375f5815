"""The microprogrammed engine: it serves the host, decodes commands and does all but products."""
from amaranth import *
from amaranth.hdl import MemoryData, MemoryInstance
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.compact.alu import Alu
from systolith.hw.compact.instructions import (
    CODE_BITS,
    OUT_COUNT,
    REGISTERS,
    Condition,
    Op,
    Source,
    View,
)
from systolith.hw.compact.memories import EngineAccess
from systolith.hw.host import HostRequest


class Engine(wiring.Component):
    """Two cycles an operation (more where it repeats or waits for a memory), one a branch.

    In the first the instruction is there and its register is read; in the second it is executed.
    A branch is decided in the first.

    Parameters
    ----------
    code : sequence of int
        Instructions, at most ``2 ** CODE_BITS``. It starts at the first after a reset.
    constants : sequence of int
        What the registers hold at power-up; a reset leaves them.

    Members
    -------
    host_request : In(stream of HostRequest), host_response : Out(stream of 32 bits)
        The host.
    access : Out(EngineAccess)
        The memories.
    setup : Out(1), place : Out(4), data : Out(32)
        Products, see :class:`ProductLoops`.
    busy : In(1)
        A product runs.
    """

    def __init__(self, *, code, constants):
        self._code, self._constants = list(code), list(constants)
        super().__init__({
            "host_request": In(stream.Signature(HostRequest())),
            "host_response": Out(stream.Signature(32)),
            "access": Out(EngineAccess()), "setup": Out(1), "place": Out(4), "data": Out(32),
            "busy": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.alu = self._alu = alu = Alu()
        self._word = word = Signal(16)
        self._execute, self._done = Signal(), Signal()
        self._quiet = ~self.host_request.valid | self.host_response.valid
        self._cycles, counting = Signal(32), Signal()
        self._return = Signal(CODE_BITS)
        register = self._registers(m)
        self._fetch(m)
        op = self._op = {op: Signal(name=f"does_{op.name.lower()}") for op in Op}
        m.d.comb += [
            *(signal.eq(self._execute & (word[10:15] == op)) for op, signal in self._op.items()),
            alu.execute.eq(self._execute), alu.op.eq(word[10:15]),
            alu.operand.eq(self._view(m, self._source(m, register))),
            self._done.eq(alu.done & (self.access.ready | ~self.access.valid)),
            self.setup.eq(op[Op.OUT] & ~word[4]), self.place.eq(word), self.data.eq(alu.a),
        ]
        with m.If(op[Op.OUT] & word[OUT_COUNT.bit_length() - 1]):
            m.d.sync += counting.eq(alu.a[0])
        with m.If(counting):
            m.d.sync += self._cycles.eq(self._cycles + 1)
        self._memory(m, register)
        self._host(m)
        return m

    def _registers(self, m):
        """What the register of the instruction holds."""
        m.submodules.registers = instance = MemoryInstance(
            data=MemoryData(shape=32, depth=REGISTERS, init=self._constants))
        value, write = Signal(32), Signal()
        m.d.comb += write.eq(self._execute & (self._word[10:15] == Op.ST))
        instance.write_port(domain="sync", addr=self._word[:8], data=self._alu.a, en=write)
        instance.read_port(domain="sync", addr=self._word[:8], data=value, en=~self._execute,
                           transparent_for=())
        return value

    def _fetch(self, m):
        """Address of the next instruction, and which of the two cycles this is."""
        m.submodules.code = instance = MemoryInstance(
            data=MemoryData(shape=16, depth=1 << CODE_BITS, init=self._code))
        here, following, after = Signal(CODE_BITS), Signal(CODE_BITS), Signal(CODE_BITS)
        started, taken, advance = Signal(), Signal(), Signal()
        word, branch = self._word, self._word[15]
        instance.read_port(domain="sync", addr=following, data=word, en=advance,
                           transparent_for=())
        with m.Switch(word[11:15]):
            for condition, value in self._conditions().items():
                with m.Case(condition):
                    m.d.comb += taken.eq(value)
        m.d.comb += [
            after.eq(here + 1), following.eq(after),
            advance.eq(~started | Mux(self._execute, self._done, branch)),
        ]
        with m.If(~started):
            m.d.comb += following.eq(0)
        with m.Elif(self._execute):
            with m.If(word[10:15] == Op.GO):
                m.d.comb += following.eq(self._alu.a)
        with m.Elif(taken):
            m.d.comb += following.eq(word)
        with m.If(advance):
            m.d.sync += here.eq(following)
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += self._execute.eq(Mux(self._execute, ~self._done, ~branch))
        with m.If(started & ~self._execute & branch & (word[11:15] == Condition.CALL)):
            m.d.sync += self._return.eq(after)

    def _conditions(self):
        alu = self._alu
        return {
            Condition.ALWAYS: Const(1, 1), Condition.CALL: Const(1, 1),
            Condition.ZERO: alu.a == 0, Condition.NONZERO: alu.a != 0,
            Condition.NEGATIVE: alu.a[31], Condition.POSITIVE: ~alu.a[31],
            Condition.LESS: alu.less, Condition.NOT_LESS: ~alu.less,
            Condition.CARRY: alu.carry, Condition.NO_CARRY: ~alu.carry,
            Condition.QUIET: self._quiet, Condition.BUSY: self.busy,
            Condition.OVERFLOW: alu.overflow, Condition.NO_OVERFLOW: ~alu.overflow,
            Condition.EVEN: ~alu.a[0],
        }

    def _source(self, m, register):
        """The register, or what stands for it."""
        request = self.host_request.p
        special = {
            Source.MEMORY: self.access.read_data,
            Source.HOST_ADDRESS: Cat(request.address, request.write),
            Source.HOST_DATA: request.data, Source.CYCLES: self._cycles,
            Source.RETURN: self._return, Source.FRACTION: self._alu.fraction,
            Source.COUNT: self._alu.count,
        }
        result = Signal(32)
        m.d.comb += result.eq(register)
        with m.If(self._word[4:8] == Source.MEMORY >> 4):
            with m.Switch(self._word[:3]):
                for source, value in special.items():
                    with m.Case(source & 7):
                        m.d.comb += result.eq(value)
        return result

    def _view(self, m, source):
        view, low, sign = Signal(View), Signal(16), Signal()
        m.d.comb += [
            view.eq(self._word[8:10]),
            low.eq(Mux(view == View.HIGH, source[16:], source[:16])),
            sign.eq(Mux(view == View.HIGH, source[31], source[15]) & (view != View.UNSIGNED)),
        ]
        return Cat(low, Mux(view == View.WORD, source[16:], sign.replicate(16)))

    def _memory(self, m, register):
        """The address comes from a register proper."""
        access, a, op = self.access, self._alu.a, self._op
        half, byte = op[Op.WRH], op[Op.WRB]
        place = register[:2]
        m.d.comb += [
            access.valid.eq(op[Op.RD] | op[Op.WRW] | half | byte), access.write.eq(~op[Op.RD]),
            access.address.eq(register),
            access.data.eq(Cat(a[:8], Mux(byte, a[:8], a[8:16]),
                               Mux(half | byte, a[:8], a[16:24]),
                               Mux(byte, a[:8], Mux(half, a[8:16], a[24:])))),
            access.mask.eq(Mux(byte, 1 << place, Mux(half, Mux(place[1], 12, 3), 15))),
        ]

    def _host(self, m):
        request, response = self.host_request, self.host_response
        m.d.comb += request.ready.eq(self._op[Op.ACK] | self._op[Op.REPLY])
        with m.If(response.ready):
            m.d.sync += response.valid.eq(0)
        with m.If(self._op[Op.REPLY]):
            m.d.sync += [response.valid.eq(1), response.payload.eq(self._alu.a)]
