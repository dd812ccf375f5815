"""The scalar unit: reciprocals of row reductions as scale words."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from systolith.hw.isa import RECIPROCAL_FRACTION, RECIPROCAL_SEGMENTS, reciprocal_table
from systolith.hw.vector.delay import delayed, register
from systolith.hw.vector.scale_word import SCALE_WORD

#: Cycles from number to reciprocal.
RECIPROCAL_LATENCY = 6

_Entry = data.StructLayout({"base": 16, "slope": 9})


def _normalize(x, steps):
    """Shift ``x`` left by each power of two in ``steps`` that loses no 1; and which these were."""
    shifts = []
    for step in steps:
        empty = x[-step:] == 0
        x = Mux(empty, Cat(Const(0, step), x[:-step]), x)
        shifts.append(empty)
    return x, Cat(reversed(shifts))


class Reciprocal(wiring.Component):
    """``numerics.reciprocal`` of a signed 32-bit number, or the number itself.

    The number is normalized to a 16-bit mantissa; a ROM of 128 chords gives ``2**31 / mantissa``.
    Latency :data:`RECIPROCAL_LATENCY`, one number a cycle.

    Members
    -------
    x : In(signed 32)
        Number.
    enable : In(1)
        Compute the reciprocal.
    y : Out(32)
        Scale word of ``1 / x``, 0 where ``x <= 0``; ``x`` where not ``enable``.
    """

    def __init__(self):
        super().__init__({"x": In(signed(32)), "enable": In(1), "y": Out(32)})

    def elaborate(self, platform):
        m = Module()
        passed = delayed(m, self.x, RECIPROCAL_LATENCY - 1, "passed")
        enable = delayed(m, self.enable, RECIPROCAL_LATENCY - 1, "enable")
        mantissa, zeros = self._mantissa(m)
        quotient = self._quotient(m, mantissa)
        # With z leading zeros the number is mantissa * 2**(16 - z): the shift is 31 + 16 - z.
        zeros = delayed(m, zeros, 3, "zeros")
        result = Signal(SCALE_WORD)
        with m.If(passed > 0):
            m.d.comb += [result.multiplier.eq(quotient), result.shift.eq(47 - zeros)]
        y = Mux(enable, Cat(result.as_value(), Const(0, 10)), passed)
        m.d.comb += self.y.eq(register(m, y, "y_1"))
        return m

    def _mantissa(self, m):
        """Upper 16 bits of the normalized number and its leading zeros, two cycles later."""
        coarse, many = _normalize(self.x.as_unsigned(), (16, 8))
        coarse, many = register(m, coarse, "coarse"), register(m, many, "many")
        fine, few = _normalize(coarse, (4, 2, 1))
        return register(m, fine[16:], "mantissa"), register(m, Cat(few, many), "leading")

    def _quotient(self, m, mantissa):
        """``2**31 / mantissa``, three cycles later, 16 bits."""
        init = [{"base": base, "slope": slope} for base, slope in reciprocal_table()]
        m.submodules.chords = chords = Memory(shape=_Entry, depth=RECIPROCAL_SEGMENTS, init=init)
        read = chords.read_port()
        # The mantissa's top bit is 1 and not part of the segment.
        m.d.comb += read.addr.eq(mantissa[RECIPROCAL_FRACTION:-1])
        entry = register(m, read.data, "entry")
        fraction = delayed(m, mantissa[:RECIPROCAL_FRACTION], 2, "fraction")
        product = register(m, entry.slope * fraction, "product")
        base = register(m, entry.base, "base_1")
        return (base - product[RECIPROCAL_FRACTION:])[:16]
