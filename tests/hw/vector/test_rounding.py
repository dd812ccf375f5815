"""Rounding and saturation over every value of small widths."""
import cocotb
import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.triggers import Timer

from systolith.hw.vector.rounding import round_up, rounding_shift, saturate, shift_stage
from systolith.sw.reference import numerics
from tests.bench import simulate

WIDTH = 10
SHIFTS = (1, 2, 7, 9)


class Rounding(wiring.Component):
    """Every function of the module on one number."""

    def __init__(self):
        super().__init__({
            "x": In(signed(WIDTH)), "amount": In(4), "saturated": Out(signed(4)),
            "variable": Out(signed(WIDTH + 2)),
            **{f"constant_{shift}": Out(signed(WIDTH + 1)) for shift in SHIFTS}})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.saturated.eq(saturate(self.x, 4))
        for shift in SHIFTS:
            m.d.comb += getattr(self, f"constant_{shift}").eq(rounding_shift(self.x, shift))
        wide = Cat(Const(0, 1), self.x)
        coarse, lost = shift_stage(m, wide, Const(0), self.amount[2:], 4, "coarse")
        fine, sticky = shift_stage(m, coarse, lost, self.amount[:2], 1, "fine")
        quotient = fine[1:].as_signed()
        m.d.comb += self.variable.eq(quotient + round_up(quotient, fine[0], sticky))
        return m


@cocotb.test()
async def every_value(dut):
    for x in range(-(1 << WIDTH - 1), 1 << WIDTH - 1):
        for amount in range(16):
            dut.x.value, dut.amount.value = x, amount
            await Timer(1, unit="ns")
            assert dut.variable.value.to_signed() == numerics.rounding_shift(x, amount), (x, amount)
        assert dut.saturated.value.to_signed() == numerics.saturate(x, 4), x
        for shift in SHIFTS:
            got = dut[f"constant_{shift}"].value.to_signed()
            assert got == numerics.rounding_shift(x, shift), (x, shift)


def test_rounding():
    simulate(Rounding(), "rounding", __name__)


def test_ties_go_to_even():
    halves = np.array([-3, -1, 1, 3])
    assert numerics.rounding_shift(halves, 1).tolist() == [-2, 0, 0, 2]
