"""The engine's arithmetic against Python's integers."""
import random
from fractions import Fraction

from systolith.hw.compact.alu import Alu
from systolith.hw.compact.instructions import Op, executed
from tests.hw.sdram.simulated import simulate

WORD = (1 << 32) - 1


def signed(value):
    return value - (1 << 32) if value >> 31 else value


class Driver:
    """Executes operations one by one."""

    def __init__(self, dut, context):
        self.dut, self.context = dut, context

    async def do(self, op, operand=0):
        """Cycles that it took."""
        inverted = WORD if op in (Op.SUB, Op.CMP) else 0
        self.context.set(self.dut.op, executed(op))
        self.context.set(self.dut.operand, (operand & WORD) ^ inverted)
        for cycles in range(1, 40):
            done = self.context.get(self.dut.done)
            await self.context.tick()
            if done:
                self.context.set(self.dut.op, 0)
                return cycles
        raise AssertionError(f"{op!r} does not end")

    def get(self, name):
        return self.context.get(getattr(self.dut, name))


def check(test):
    dut = Alu()

    async def bench(context):
        await test(Driver(dut, context), random.Random(1))
    simulate(dut, bench)


def test_sums_and_flags():
    async def test(alu, chosen):
        for _ in range(200):
            a, b = (chosen.choice([0, 1, WORD, 1 << 31, chosen.getrandbits(32)]) for _ in range(2))
            for op, exact, carry in ((Op.ADD, signed(a) + signed(b), a + b > WORD),
                                     (Op.SUB, signed(a) - signed(b), a >= b),
                                     (Op.CMP, signed(a) - signed(b), a >= b)):
                await alu.do(Op.LD, a)
                assert await alu.do(op, b) == 1
                assert alu.get("a") == (a if op == Op.CMP else exact & WORD)
                assert (alu.get("carry"), alu.get("less")) == (carry, exact < 0)
    check(test)


def test_bits():
    async def test(alu, chosen):
        for _ in range(50):
            a, b, loaded = (chosen.getrandbits(32) for _ in range(3))
            alu.context.set(alu.dut.loaded, loaded)
            for op, expected in ((Op.AND, a & b), (Op.OR, a | b), (Op.WRW, a), (Op.RD, loaded)):
                await alu.do(Op.LD, a)
                await alu.do(op, b)
                assert alu.get("a") == expected
    check(test)


def test_products_take_a_cycle_a_bit():
    async def test(alu, chosen):
        for _ in range(100):
            b = chosen.getrandbits(16)
            factor = chosen.choice([0, 1, 0xFFFF, chosen.getrandbits(16)])
            await alu.do(Op.SETM, factor)
            await alu.do(Op.SETN, 16)
            await alu.do(Op.LD, 0)
            assert await alu.do(Op.MUL, b) == 16
            assert alu.get("a") << 16 | alu.get("fraction") == b * factor
    check(test)


def test_shifts():
    async def test(alu, chosen):
        for _ in range(100):
            a, m, n = chosen.getrandbits(32), chosen.getrandbits(16), chosen.randrange(1, 17)
            for op in (Op.SHR, Op.SHL):
                await alu.do(Op.SETM, m)
                await alu.do(Op.SETN, n)
                await alu.do(Op.LD, a)
                assert await alu.do(op) == n
                both = signed(a) << 16 | m
                both = both >> n if op == Op.SHR else both << n
                assert (alu.get("a"), alu.get("fraction")) == (both >> 16 & WORD, both & 0xFFFF)
    check(test)


def test_rounding_to_the_nearest_and_half_to_even():
    async def test(alu, chosen):
        for _ in range(300):
            a = chosen.choice([0, 1, WORD, (1 << 31) - 1, chosen.getrandbits(32)])
            m = chosen.choice([0, 0x8000, 0x7FFF, 0x8001, chosen.getrandbits(16)])
            n = chosen.randrange(20)
            await alu.do(Op.SETM, m)
            await alu.do(Op.SETN, n)
            await alu.do(Op.LD, a)
            if n:
                await alu.do(Op.SHR)
            await alu.context.tick()
            await alu.do(Op.ROUND)
            exact = round(Fraction((signed(a) << 16) + m, 1 << 16 + n))
            assert alu.get("a") == exact & WORD
            assert alu.get("less") == (exact < 0)
    check(test)
