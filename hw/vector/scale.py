"""Multiplication by scale words: the requantization of all lanes."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.vector.delay import delayed, register
from systolith.hw.vector.rounding import round_up, saturate, shift_stage
from systolith.hw.vector.scale_word import SCALE_WORD

#: Cycles from element and word to the scaled element.
SCALE_LATENCY = 5


class Scale(wiring.Component):
    """``x * multiplier / 2**shift``, ties to even, saturated to INT32: ``numerics.scale``.

    Two 16 x 16 multipliers a lane (two DSP blocks) and a barrel shifter of 49 bits in two stages.
    Latency :data:`SCALE_LATENCY`, one beat a cycle. The word (1, 0) passes ``x`` unchanged.

    Parameters
    ----------
    lanes : int
        Elements of a beat.

    Members
    -------
    x : In(lanes of signed 32)
        Elements.
    word : In(lanes of SCALE_WORD)
        Scale of each lane.
    y : Out(lanes of signed 32)
        Scaled elements.
    """

    def __init__(self, *, lanes):
        elements = data.ArrayLayout(signed(32), lanes)
        super().__init__({"x": In(elements), "word": In(data.ArrayLayout(SCALE_WORD, lanes)),
                          "y": Out(elements)})

    def elaborate(self, platform):
        m = Module()
        for lane, (x, word) in enumerate(zip(self.x, self.word, strict=True)):
            m.d.comb += self.y[lane].eq(self._lane(m, x, word, lane))
        return m

    def _lane(self, m, x, word, lane):
        product = self._product(m, x, word.multiplier, lane)
        shift = delayed(m, word.shift, 2, f"shift_{lane}")
        # A bit below the product: after the shift it is the guard bit.
        coarse, lost = shift_stage(m, Cat(Const(0, 1), product), Const(0), shift[4:], 16,
                                   f"shifting_coarse_{lane}")
        coarse = register(m, coarse, f"coarse_{lane}")
        lost = register(m, lost, f"lost_{lane}")
        shift = register(m, shift[:4], f"fine_shift_{lane}")
        fine, sticky = shift_stage(m, coarse, lost, shift, 1, f"shifting_fine_{lane}")
        fine = register(m, fine, f"fine_{lane}")
        sticky = register(m, sticky, f"sticky_{lane}")
        return register(m, self._round(fine, sticky), f"scaled_{lane}")

    def _product(self, m, x, multiplier, lane):
        """The 48-bit product, two cycles later: halves first, so each fits one DSP block."""
        low = register(m, x[:16] * multiplier, f"product_low_{lane}")
        high = register(m, x[16:].as_signed() * multiplier, f"product_high_{lane}")
        upper = (high + low[16:])[:32]
        return register(m, Cat(low[:16], upper).as_signed(), f"product_{lane}")

    def _round(self, shifted, sticky):
        """Round and saturate ``shifted``, whose lowest bit is the guard bit."""
        guard, quotient = shifted[0], shifted[1:]
        top, sign = quotient[31:], quotient[-1]
        # Saturation is decided before rounding, so the adder has 33 bits only: a quotient outside
        # INT32 saturates to the same end whether it is rounded or not.
        rounded = quotient[:32].as_signed() + round_up(quotient, guard, sticky)
        limit = Mux(sign, Const(1 << 31, 32), Const((1 << 31) - 1, 32))
        return Mux(top.all() | ~top.any(), saturate(rounded, 32), limit).as_signed()
