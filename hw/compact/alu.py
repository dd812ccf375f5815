"""The arithmetic of the engine: accumulator, fraction and counter."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.compact.instructions import Op

_ADDING = (Op.ADD, Op.ADC, Op.SUB, Op.CMP, Op.RND, Op.RNDU)
_REPEATED = (Op.MUL, Op.MULS, Op.SHR, Op.SHL)


class Alu(wiring.Component):
    """One step of an operation a cycle.

    Members
    -------
    execute : In(1), op : In(5), operand : In(32)
        A step of this operation is done.
    done : Out(1)
        It is the last one.
    a : Out(32), fraction : Out(16), count : Out(6)
        A, M and N.
    less, carry, overflow : Out(1)
        The flags.
    """

    def __init__(self):
        super().__init__({"execute": In(1), "op": In(5), "operand": In(32), "done": Out(1),
                          "a": Out(32), "fraction": Out(16), "count": Out(6), "less": Out(1),
                          "carry": Out(1), "overflow": Out(1)})

    def elaborate(self, platform):
        m = Module()
        self._lost = Signal()  # a one has been shifted out of the fraction
        self._op = {op: Signal(name=f"is_{op.name.lower()}") for op in Op}
        m.d.comb += [signal.eq(self.execute & (self.op == op)) for op, signal in self._op.items()]
        self._repeated(m)
        total, sign = self._adder(m)
        self._accumulate(m, total, sign)
        self._shift(m, total)
        self._flags(m, total, sign)
        return m

    def _any(self, *ops):
        return Cat(self._op[op] for op in ops).any()

    def _repeated(self, m):
        """Steps of the operations that take N of them; none where N is 0."""
        self._step, self._blocked = Signal(), Signal()
        m.d.comb += [
            self._blocked.eq(self._op[Op.SHL] & (self.a[31] ^ self.a[30])),
            self._step.eq(self._any(*_REPEATED) & (self.count != 0) & ~self._blocked),
            self.done.eq(~self._any(*_REPEATED) | (self.count <= 1) | self._blocked),
        ]
        with m.If(self._step):
            m.d.sync += self.count.eq(self.count - 1)
        with m.If(self._op[Op.SETN]):
            m.d.sync += self.count.eq(self.operand)

    def _adder(self, m):
        """(33 bits of A plus the operand, its carry last; the sign of the exact sum)."""
        addend, total, sign = Signal(32), Signal(33), Signal()
        up = self.fraction[15] & (self.fraction[:15].any() | self._lost | self.a[0]
                                  | self._op[Op.RNDU])
        add = self._any(Op.ADD, Op.ADC, Op.SUB, Op.CMP) | (
            self._any(Op.MUL, Op.MULS) & self.fraction[0])
        negative = self._any(Op.SUB, Op.CMP) | (
            self._op[Op.MULS] & (self.count == 1) & self.fraction[0])
        carry = Mux(self._any(Op.RND, Op.RNDU), up, negative | (self._op[Op.ADC] & self.carry))
        m.d.comb += [
            addend.eq((self.operand & add.replicate(32)) ^ negative.replicate(32)),
            total.eq(self.a + addend + carry),
            sign.eq(self.a[31] ^ addend[31] ^ total[32]),
        ]
        return total, sign

    def _accumulate(self, m, total, sign):
        with m.If(self._any(Op.ADD, Op.ADC, Op.SUB, Op.RND, Op.RNDU)):
            m.d.sync += self.a.eq(total[:32])
        with m.If(self._step):
            with m.If(self._op[Op.SHL]):
                m.d.sync += self.a.eq(Cat(self.fraction[15], self.a[:31]))
            with m.Else():
                m.d.sync += self.a.eq(Cat(total[1:32], sign))
        for op, value in ((Op.AND, self.a & self.operand), (Op.OR, self.a | self.operand),
                          (Op.XOR, self.a ^ self.operand)):
            with m.If(self._op[op]):
                m.d.sync += self.a.eq(value)
        with m.If(self._op[Op.LD] | (self._op[Op.LDLT] & self.less)
                  | (self._op[Op.LDGE] & ~self.less)):
            m.d.sync += self.a.eq(self.operand)

    def _shift(self, m, total):
        with m.If(self._step):
            with m.If(self._op[Op.SHL]):
                m.d.sync += self.fraction.eq(self.fraction << 1)
            with m.Else():
                m.d.sync += self.fraction.eq(Cat(self.fraction[1:], total[0]))
            with m.If(self._op[Op.SHR] & self.fraction[0]):
                m.d.sync += self._lost.eq(1)
        with m.If(self._op[Op.SETM]):
            m.d.sync += [self.fraction.eq(self.operand), self._lost.eq(0)]

    def _flags(self, m, total, sign):
        with m.If(self._any(*_ADDING)):
            m.d.sync += [self.carry.eq(total[32]), self.less.eq(sign),
                         self.overflow.eq(sign ^ total[31])]
        with m.If(self._blocked):
            m.d.sync += self.overflow.eq(1)
        with m.If(self._op[Op.SETM]):
            m.d.sync += self.overflow.eq(0)
