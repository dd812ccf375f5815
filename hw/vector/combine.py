"""Combination of a pass with a second stream, or with itself."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw import isa
from systolith.hw.vector.delay import delayed, register
from systolith.hw.vector.rounding import rounding_shift, saturate

#: Cycles from element to combination.
COMBINE_LATENCY = 4

#: Right shift of a product: factors from the stream are Q1.14.
_SHIFT = 14

_PRODUCTS = (isa.Combine.MULTIPLY, isa.Combine.SELF, isa.Combine.ROTATE)


class Combine(wiring.Component):
    """Sum, product, product with itself or rotation of pairs, as ``isa.Combine`` says.

    ``ADD`` saturates to INT32; products saturate ``x`` to INT16 and are ``numerics.multiply`` and
    ``numerics.rotate``: exact sums, shifted right by 14, ties to even; ``numerics.square`` is not
    shifted. Two multipliers of 16 x 16 a
    lane. Latency :data:`COMBINE_LATENCY`, one beat a cycle.

    Parameters
    ----------
    lanes : int
        Elements of a beat, even.

    Members
    -------
    x : In(lanes of signed 32)
        Elements.
    narrow : In(lanes of signed 16)
        The elements saturated to INT16.
    own : In(lanes of signed 16)
        Factors of ``SELF``.
    stream : In(lanes of signed 16)
        Summands or factors; for ``ROTATE`` cos in even, sin in odd lanes.
    mode : In(isa.Combine)
        How to combine.
    y : Out(lanes of signed 32)
        Results.
    """

    def __init__(self, *, lanes):
        if lanes < 2 or lanes % 2:
            raise ValueError(f"lanes must be even and at least 2, not {lanes!r}")
        wide, narrow = (data.ArrayLayout(signed(bits), lanes) for bits in (32, 16))
        super().__init__({"x": In(wide), "narrow": In(narrow), "own": In(narrow),
                          "stream": In(narrow), "mode": In(3), "y": Out(wide)})

    def elaborate(self, platform):
        m = Module()
        lanes = self.x.shape().length
        shifts = delayed(m, Cat(self.mode == mode for mode in _PRODUCTS).any(), 3, "shifts")
        squares = delayed(m, self.mode == isa.Combine.SQUARE, 3, "squares")
        factors = [register(m, self.narrow[lane], f"factor_{lane}")
                   for lane in range(lanes)]
        for lane in range(lanes):
            direct, cross = self._products(m, factors, lane)
            # The even lane of a pair is turned by minus the sine.
            total = direct - cross if lane % 2 == 0 else direct + cross
            total = register(m, total, f"total_{lane}")
            plain = delayed(m, self._sum(lane), 3, f"plain_{lane}")
            result = Signal(signed(32), name=f"result_{lane}")
            m.d.comb += [
                result.eq(Mux(shifts, rounding_shift(total, _SHIFT), Mux(squares, total, plain))),
                self.y[lane].eq(register(m, result, f"y_{lane}")),
            ]
        return m

    def _sum(self, lane):
        stream = Mux(self.mode == isa.Combine.ADD, self.stream[lane], 0)
        return saturate(self.x[lane] + stream, 32)

    def _products(self, m, factors, lane):
        """Lane times its second factor, and the neighbour times the sine (0 unless rotating)."""
        pair = lane & ~1
        second = Signal(signed(16), name=f"second_{lane}")
        sine = Signal(signed(16), name=f"sine_{lane}")
        with m.Switch(self.mode):
            with m.Case(isa.Combine.SELF):
                m.d.comb += second.eq(self.own[lane])
            with m.Case(isa.Combine.SQUARE):
                m.d.comb += second.eq(self.narrow[lane])
            with m.Case(isa.Combine.ROTATE):
                m.d.comb += [second.eq(self.stream[pair]), sine.eq(self.stream[pair + 1])]
            with m.Default():
                m.d.comb += second.eq(self.stream[lane])
        second = register(m, second, f"second_factor_{lane}")
        sine = register(m, sine, f"sine_factor_{lane}")
        return (register(m, factors[lane] * second, f"direct_{lane}"),
                register(m, factors[lane ^ 1] * sine, f"cross_{lane}"))
