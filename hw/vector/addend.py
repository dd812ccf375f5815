"""The first stage of a pass: a bias, or minus a row's constant."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw import isa
from systolith.hw.vector.delay import register
from systolith.hw.vector.rounding import saturate

#: Cycles from element to sum.
ADDEND_LATENCY = 1


class Addend(wiring.Component):
    """``x``, ``x + column`` or ``x - row``, saturated to INT32. One beat a cycle.

    Latency :data:`ADDEND_LATENCY`.

    Parameters
    ----------
    lanes : int
        Elements of a beat.

    Members
    -------
    x, column : In(lanes of signed 32)
        Elements and the constants of their columns.
    row : In(signed 32)
        Constant of the row.
    mode : In(isa.Addend)
        What is added.
    y : Out(lanes of signed 32)
        Sums.
    """

    def __init__(self, *, lanes):
        elements = data.ArrayLayout(signed(32), lanes)
        super().__init__({"x": In(elements), "column": In(elements), "row": In(signed(32)),
                          "mode": In(2), "y": Out(elements)})

    def elaborate(self, platform):
        m = Module()
        subtract = self.mode == isa.Addend.ROW
        for lane, (x, column) in enumerate(zip(self.x, self.column, strict=True)):
            term = Signal(signed(32), name=f"term_{lane}")
            with m.Switch(self.mode):
                with m.Case(isa.Addend.COLUMN):
                    m.d.comb += term.eq(column)
                with m.Case(isa.Addend.ROW):
                    # Minus is complement plus one: one adder serves both.
                    m.d.comb += term.eq(~self.row)
            total = x + term + subtract
            m.d.comb += self.y[lane].eq(register(m, saturate(total[:33], 32), f"sum_{lane}"))
        return m
