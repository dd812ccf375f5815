"""The last stage of a pass: narrowing, saturation and the validity mask."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw import isa
from systolith.hw.vector.delay import delayed, register
from systolith.hw.vector.rounding import rounding_shift, saturate

#: Cycles from element to result.
SATURATE_LATENCY = 2

#: Right shift of narrowing.
_NARROW_SHIFT = 7


def lane_mask(count, lanes):
    """Bit ``l`` is set when lane ``l`` is among the first ``count`` lanes."""
    return Cat(count > lane for lane in range(lanes))


class Saturate(wiring.Component):
    """Rounding shift by 7 where ``narrow``, then saturation; 0 where an element is not valid.

    Latency :data:`SATURATE_LATENCY`, one beat a cycle.

    Parameters
    ----------
    lanes : int
        Elements of a beat.

    Members
    -------
    x : In(lanes of signed 32)
        Elements.
    count : In(range(lanes + 1))
        How many lanes, from lane 0 on, are valid.
    narrow : In(1)
        Shift right by 7 first, ties to even.
    output : In(isa.Output)
        Range.
    y : Out(lanes of signed 16)
        Results; ``UINT8`` gives 0 to 255.
    """

    def __init__(self, *, lanes):
        super().__init__({
            "x": In(data.ArrayLayout(signed(32), lanes)), "count": In(range(lanes + 1)),
            "narrow": In(1), "output": In(2), "y": Out(data.ArrayLayout(signed(16), lanes)),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.x.shape().length
        output = register(m, self.output, "output_1")
        mask = delayed(m, lane_mask(self.count, lanes), 1, "mask")
        for lane, x in enumerate(self.x):
            narrowed = Mux(self.narrow, rounding_shift(x, _NARROW_SHIFT), x).as_signed()
            narrowed = register(m, narrowed, f"narrowed_{lane}")
            result = Mux(mask[lane], self._clamp(m, narrowed, output, lane), 0).as_signed()
            m.d.comb += self.y[lane].eq(register(m, result, f"result_{lane}"))
        return m

    def _clamp(self, m, x, output, lane):
        clamped = Signal(signed(16), name=f"clamped_{lane}")
        with m.Switch(output):
            with m.Case(isa.Output.INT8):
                m.d.comb += clamped.eq(saturate(x, 8))
            with m.Case(isa.Output.UINT8):
                m.d.comb += clamped[:8].eq(Mux(x[8:].any(), Mux(x[-1], 0, 255), x[:8]))
            with m.Default():
                m.d.comb += clamped.eq(saturate(x, 16))
        return clamped
