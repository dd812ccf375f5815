"""The arithmetic of the engine: accumulator, fraction and counter."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.compact.instructions import EXECUTED_BITS, Group, Op


class Alu(wiring.Component):
    """One step of an operation a cycle.

    Members
    -------
    op : In(EXECUTED_BITS)
        A step of this operation is done: its bit and those of its groups, see :class:`Group`; or 0.
    operand : In(32)
        Of ``SUB`` and ``CMP``, inverted.
    loaded : In(32)
        What ``RD`` has read.
    done : Out(1)
        The step is the operation's last.
    a : Out(32), fraction : Out(16)
        A and M.
    less, carry : Out(1)
        The flags.
    """

    def __init__(self):
        super().__init__({"op": In(EXECUTED_BITS), "operand": In(32), "loaded": In(32),
                          "done": Out(1), "a": Out(32), "fraction": Out(16), "less": Out(1),
                          "carry": Out(1)})

    def elaborate(self, platform):
        m = Module()
        self._count(m)
        total, sign = self._adder(m, self._rounds_up(m))
        self._accumulate(m, total, sign)
        self._shift(m, total)
        with m.If(self.op[Group.FLAGGING]):
            m.d.sync += [self.carry.eq(total[32]), self.less.eq(sign)]
        return m

    def _count(self, m):
        """N."""
        count = Signal(5)
        repeated = self.op[Group.REPEATED]
        m.d.comb += self.done.eq(~repeated | (count == 1))
        with m.If(self.op[Op.SETN]):
            m.d.sync += count.eq(self.operand)
        with m.Elif(repeated):
            m.d.sync += count.eq(count - 1)

    def _rounds_up(self, m):
        """Whether ``ROUND`` adds 1. A and M have been there for a cycle when it is executed."""
        result = Signal()
        lost = Signal()  # a bit that was set has left M
        with m.If(self.op[Op.SETN]):
            m.d.sync += lost.eq(0)
        with m.Elif(self.op[Op.SHR] & self.fraction[0]):
            m.d.sync += lost.eq(1)
        m.d.sync += result.eq(self.fraction[15]
                              & (self.fraction[:15].any() | lost | self.a[0]))
        return result

    def _adder(self, m, rounds_up):
        """(33 bits of A plus the operand, its carry last; the sign of the exact sum)."""
        addend = Signal(32)
        carried = Signal()
        total = Signal(33)
        sign = Signal()
        adds = self.op[Group.ADDING] | (self.op[Op.MUL] & self.fraction[0])
        m.d.comb += [
            addend.eq(self.operand & adds.replicate(32)),
            carried.eq(self.op[Group.INVERTED] | (self.op[Op.ROUND] & rounds_up)),
            total.eq(self.a + addend + carried),
            sign.eq(self.a[31] ^ addend[31] ^ total[32]),
        ]
        return total, sign

    def _accumulate(self, m, total, sign):
        """Each source with its own enable: no source waits for the choice between others."""
        loading = self.op[Group.LOADING].replicate(32)
        choices = (
            (self.op[Group.SUMMING], total[:32]),
            (self.op[Group.RIGHT], Cat(total[1:32], sign)),
            (self.op[Group.LOADING], self.operand), (self.op[Op.RD], self.loaded),
            (self.op[Group.MASKING], self.a & (self.operand | loading)),
            (self.op[Op.SHL], Cat(self.fraction[15], self.a[:31])))
        result = Const(0, 32)
        for chosen, value in choices:
            result |= value & chosen.replicate(32)
        with m.If(self.op[Group.CHANGING]):
            m.d.sync += self.a.eq(result)

    def _shift(self, m, total):
        with m.If(self.op[Op.SETM]):
            m.d.sync += self.fraction.eq(self.operand)
        with m.If(self.op[Op.SHL]):
            m.d.sync += self.fraction.eq(self.fraction << 1)
        with m.If(self.op[Group.RIGHT]):
            m.d.sync += self.fraction.eq(Cat(self.fraction[1:], total[0]))
