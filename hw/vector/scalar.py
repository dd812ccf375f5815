"""The scalar unit: what is stored of a row's reduction."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from systolith.hw import isa
from systolith.hw.vector.delay import delayed, register
from systolith.hw.vector.rounding import rounding_shift, saturate
from systolith.hw.vector.scale_word import SCALE_WORD

_Entry = data.StructLayout({"base": 16, "slope": 9})

#: By the latency: shifts of the normalization, those of one cycle together (in a cycle without, the
#: number is only chosen), and cycles of a chord's product.
_STAGES = {6: (((32, 16, 8), (4, 2, 1)), 1), 10: (((), (32,), (16, 8), (4, 2), (1,)), 2)}

#: Right shift of a mean.
_MEAN_SHIFT = 15


def _normalize(x, steps):
    """Shift ``x`` left by each power of two in ``steps`` that drops only zeros; also the shifts."""
    shifts = []
    for step in steps:
        empty = x[-step:] == 0
        x = Mux(empty, Cat(Const(0, step), x[:-step]), x)
        shifts.append(empty)
    return x, Cat(reversed(shifts))


def _product(m, x, y, cycles):
    """``x * y`` as a sum, so many cycles (1 or 2) later: it is small, and multipliers are what a
    small FPGA runs out of first."""
    terms = [Mux(y[bit], x, 0) << bit for bit in range(len(y))]
    while len(terms) > 1:
        terms = [sum(terms[at:at + 2], Const(0)) for at in range(0, len(terms), 2)]
        if len(terms) == 2 and cycles == 2:
            terms = [register(m, term, f"part_{place}") for place, term in enumerate(terms)]
    return register(m, terms[0], "product")


class ScalarUnit(wiring.Component):
    """``numerics.reciprocal``, ``inverse_root``, ``number_scale``, ``mean``, or the number itself.

    The number is normalized to a 16-bit mantissa and its leading zeros; a ROM of 3 x 128 chords
    gives the functions of the mantissa. One number a cycle.

    Parameters
    ----------
    latency : int
        Cycles from a number to what is stored of it, 6 or 10.

    Members
    -------
    x : In(signed 48)
        Number.
    kind : In(isa.Scalar)
        What to store of it.
    y : Out(32)
        A scale word, or a number saturated to INT32.

    Raises
    ------
    ValueError
        When it cannot take so many cycles.
    """

    def __init__(self, *, latency):
        if latency not in _STAGES:
            raise ValueError(f"latency must be 6 or 10, not {latency!r}")
        self._steps, self._product_cycles = _STAGES[latency]
        self._latency = latency
        super().__init__({"x": In(signed(isa.SUM_BITS)), "kind": In(3), "y": Out(32)})

    def elaborate(self, platform):
        m = Module()
        positive = delayed(m, self.x > 0, self._latency - 1, "positive")
        kind = delayed(m, self.kind, self._latency - 1, "kind")
        mean = register(m, rounding_shift(self.x, _MEAN_SHIFT), "mean")
        plain = register(m, self.x, "plain")
        is_mean = register(m, self.kind == isa.Scalar.MEAN, "is_mean")
        number = register(m, saturate(Mux(is_mean, mean, plain).as_signed(), 32), "saturated")
        number = delayed(m, number, self._latency - 3, "number")
        mantissa, zeros = self._mantissa(m)
        chord = self._chord(m, mantissa, zeros)
        chord_cycles = 2 + self._product_cycles
        zeros = delayed(m, zeros, chord_cycles, "zeros")
        mantissa = delayed(m, mantissa, chord_cycles, "mantissa_late")
        word, result = Signal(SCALE_WORD), Signal(32)
        # With z leading zeros of 48 the number is mantissa * 2**(32 - z).
        with m.Switch(kind):
            with m.Case(isa.Scalar.RECIPROCAL):
                m.d.comb += [word.multiplier.eq(chord), word.shift.eq(63 - zeros)]
            with m.Case(isa.Scalar.INVERSE_ROOT):
                m.d.comb += [word.multiplier.eq(chord), word.shift.eq(39 - ((zeros + 1) >> 1))]
            with m.Case(isa.Scalar.SCALE):
                m.d.comb += [word.multiplier.eq(mantissa), word.shift.eq(zeros - 1)]
        with m.If((kind == isa.Scalar.NONE) | (kind == isa.Scalar.MEAN)):
            m.d.comb += result.eq(number)
        with m.Elif(positive):
            m.d.comb += result.eq(word.as_value())
        m.d.comb += self.y.eq(register(m, result, "y_1"))
        return m

    def _mantissa(self, m):
        """Upper 16 bits of the normalized number and its leading zeros, after the normalization."""
        x = Mux(self.kind == isa.Scalar.SCALE, saturate(self.x, 32), self.x)[:isa.SUM_BITS]
        zeros = Const(0, 0)
        for stage, steps in enumerate(self._steps):
            x, more = _normalize(x, steps)
            x = register(m, x, f"normalized_{stage}")
            zeros = register(m, Cat(more, zeros), f"leading_{stage}")
        return x[-16:], zeros

    def _chord(self, m, mantissa, zeros):
        """The function of the mantissa: a cycle to the table, one to a register, the product."""
        init = [{"base": base, "slope": slope} for base, slope in isa.scalar_table()]
        m.submodules.chords = chords = Memory(shape=_Entry, depth=len(init), init=init)
        read = chords.read_port()
        root = delayed(m, self.kind == isa.Scalar.INVERSE_ROOT, len(self._steps), "root")
        # The mantissa's top bit is 1 and not part of the segment.
        segment = mantissa[isa.SCALAR_FRACTION:-1]
        m.d.comb += read.addr.eq(Cat(segment, root & ~zeros[0], root & zeros[0]))
        entry = register(m, read.data, "entry")
        fraction = delayed(m, mantissa[:isa.SCALAR_FRACTION], 2, "fraction")
        product = _product(m, entry.slope, fraction, self._product_cycles)
        base = delayed(m, entry.base, self._product_cycles, "base")
        return (base - product[isa.SCALAR_FRACTION:])[:16]
