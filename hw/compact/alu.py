"""The arithmetic of the engine: accumulator, fraction and counter."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.compact.instructions import Op

_ADDING = (Op.ADD, Op.SUB, Op.CMP)
_RIGHT = (Op.MUL, Op.SHR)


class Alu(wiring.Component):
    """One step of an operation a cycle.

    Members
    -------
    op : In(len(Op))
        Bit i: a step of operation i is done; one at most.
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
        super().__init__({"op": In(len(Op)), "operand": In(32),
                          "loaded": In(32), "done": Out(1), "a": Out(32), "fraction": Out(16),
                          "less": Out(1), "carry": Out(1)})

    def elaborate(self, platform):
        m = Module()
        self._count(m)
        total, sign = self._adder(m, self._rounds_up(m))
        self._accumulate(m, total, sign)
        self._shift(m, total)
        with m.If(self._any(*_ADDING, Op.ROUND)):
            m.d.sync += [self.carry.eq(total[32]), self.less.eq(sign)]
        return m

    def _any(self, *ops):
        return Cat(self.op[op] for op in ops).any()

    def _count(self, m):
        """N."""
        count = Signal(5)
        repeated = self._any(*_RIGHT, Op.SHL)
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
        adds = self._any(*_ADDING) | (self.op[Op.MUL] & self.fraction[0])
        m.d.comb += [
            addend.eq(self.operand & adds.replicate(32)),
            carried.eq(self._any(Op.SUB, Op.CMP) | (self.op[Op.ROUND] & rounds_up)),
            total.eq(self.a + addend + carried),
            sign.eq(self.a[31] ^ addend[31] ^ total[32]),
        ]
        return total, sign

    def _accumulate(self, m, total, sign):
        choices = (
            (self.op[Op.LD], self.operand), (self.op[Op.RD], self.loaded),
            (self.op[Op.AND], self.a & self.operand), (self.op[Op.OR], self.a | self.operand),
            (self.op[Op.SHL], Cat(self.fraction[15], self.a[:31])),
            (self._any(Op.ADD, Op.SUB, Op.ROUND), total[:32]),
            (self._any(*_RIGHT), Cat(total[1:32], sign)))
        for chosen, value in choices:
            with m.If(chosen):
                m.d.sync += self.a.eq(value)

    def _shift(self, m, total):
        with m.If(self.op[Op.SETM]):
            m.d.sync += self.fraction.eq(self.operand)
        with m.If(self.op[Op.SHL]):
            m.d.sync += self.fraction.eq(self.fraction << 1)
        with m.If(self._any(*_RIGHT)):
            m.d.sync += self.fraction.eq(Cat(self.fraction[1:], total[0]))
