"""Multipliers made of adders, for the cells that an FPGA has no multipliers left for."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

#: Bits of the operands, both signed.
LEFT_WIDTH, RIGHT_WIDTH = 9, 8

#: Cycles from the operands to the product.
LATENCY = 2

#: Bits of a product of which one factor is two bits of the right operand: from -3 * 256 to 3 * 255.
_PARTIAL_WIDTH = LEFT_WIDTH + 2


class LutMultipliers(wiring.Component):
    """``products[c] = left * rights[c]``, all with the same left operand.

    There is no multiplication sign in here, so no tool can take a multiplier of the FPGA for it.
    Two bits of the right operand make a partial product, which is one addition of what they select
    of the left one; its register; then the four are added in two steps; a register. Latency
    ``LATENCY``, new operands every cycle; all registers run freely.

    Parameters
    ----------
    cols : int
        Multipliers, at least 1.

    Members
    -------
    left : In(signed(9))
        Common operand.
    rights : In(ArrayLayout(8, cols))
        The others, signed.
    products : Out(signed(16)).array(cols)
        Exact, but for -256 * -128, which wraps.

    Raises
    ------
    ValueError
        When ``cols`` is no positive integer.
    """

    def __init__(self, *, cols):
        if not isinstance(cols, int) or cols < 1:
            raise ValueError(f"cols must be a positive integer, not {cols!r}")
        self._cols = cols
        super().__init__({
            "left": In(signed(LEFT_WIDTH)),
            "rights": In(data.ArrayLayout(RIGHT_WIDTH, cols)),
            "products": Out(signed(LEFT_WIDTH + RIGHT_WIDTH - 1)).array(cols),
        })

    def elaborate(self, platform):
        m = Module()
        for column, product in enumerate(self.products):
            partials = [self._partial(m, column, pair) for pair in range(RIGHT_WIDTH // 2)]
            low, high = (_sum(m, partials[place], partials[place + 1], 2, f"half_{column}_{place}")
                         for place in (0, 2))
            total = Signal.like(product, name=f"product_{column}", reset_less=True)
            m.d.sync += total.eq(_sum(m, low, high, 4, f"sum_{column}"))
            m.d.comb += product.eq(total)
        return m

    def _partial(self, m, column, pair):
        """Register of ``left`` times two bits of an operand; of the top bit, subtracted."""
        left, right = self.left.as_unsigned(), self.rights[column]
        once, twice = (left & right[2 * pair + place].replicate(LEFT_WIDTH) for place in (0, 1))
        once, twice = once.as_signed(), Cat(Const(0, 1), twice).as_signed()
        total = once - twice if 2 * pair + 2 == RIGHT_WIDTH else once + twice
        partial = Signal(signed(_PARTIAL_WIDTH), name=f"partial_{column}_{pair}", reset_less=True)
        m.d.sync += partial.eq(total)
        return partial


def _sum(m, low, high, shift, name):
    """``low + (high << shift)``; only the bits of ``high`` need an adder."""
    upper = Signal(signed(len(high) + 1), name=name)
    m.d.comb += upper.eq((low >> shift) + high)
    return Cat(low[:shift], upper).as_signed()
