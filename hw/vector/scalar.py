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

#: Shifts of the normalization by its cycles, those of one cycle together. In a cycle without, the
#: number is only chosen.
_STEPS = {2: ((32, 16, 8), (4, 2, 1)), 4: ((), (32, 16), (8, 4), (2, 1))}

#: Right shift of a mean.
_MEAN_SHIFT = 15


def scalar_latency(normalize_cycles):
    """Cycles from a number to what is stored of it."""
    return 4 + normalize_cycles


def _normalize(x, steps):
    """Shift ``x`` left by each power of two in ``steps`` that drops only zeros; also the shifts."""
    shifts = []
    for step in steps:
        empty = x[-step:] == 0
        x = Mux(empty, Cat(Const(0, step), x[:-step]), x)
        shifts.append(empty)
    return x, Cat(reversed(shifts))


def _product(x, y):
    """``x * y`` as a sum: it is small, and multipliers are what a small FPGA runs out of first."""
    terms = [Mux(y[bit], x, 0) << bit for bit in range(len(y))]
    while len(terms) > 1:
        terms = [sum(terms[at:at + 2], Const(0)) for at in range(0, len(terms), 2)]
    return terms[0]


class ScalarUnit(wiring.Component):
    """``numerics.reciprocal``, ``inverse_root``, ``number_scale``, ``mean``, or the number itself.

    The number is normalized to a 16-bit mantissa and its leading zeros; a ROM of 3 x 128 chords
    gives the functions of the mantissa. Latency :func:`scalar_latency`, one number a cycle.

    Parameters
    ----------
    normalize_cycles : int
        Cycles of the normalization, 2 or 4.

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
        When the normalization cannot take so many cycles.
    """

    def __init__(self, *, normalize_cycles):
        if normalize_cycles not in _STEPS:
            raise ValueError(f"normalize_cycles must be 2 or 4, not {normalize_cycles!r}")
        self._steps = _STEPS[normalize_cycles]
        self._latency = scalar_latency(normalize_cycles)
        super().__init__({"x": In(signed(isa.SUM_BITS)), "kind": In(3), "y": Out(32)})

    def elaborate(self, platform):
        m = Module()
        positive = delayed(m, self.x > 0, self._latency - 1, "positive")
        kind = delayed(m, self.kind, self._latency - 1, "kind")
        mean = register(m, saturate(rounding_shift(self.x, _MEAN_SHIFT), 32), "mean")
        plain = register(m, saturate(self.x, 32), "plain")
        is_mean = register(m, self.kind == isa.Scalar.MEAN, "is_mean")
        number = delayed(m, Mux(is_mean, mean, plain).as_signed(), self._latency - 2, "number")
        mantissa, zeros = self._mantissa(m)
        chord = self._chord(m, mantissa, zeros)
        zeros = delayed(m, zeros, 3, "zeros")
        mantissa = delayed(m, mantissa, 3, "mantissa_late")
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
        """The function of the mantissa, three cycles later."""
        init = [{"base": base, "slope": slope} for base, slope in isa.scalar_table()]
        m.submodules.chords = chords = Memory(shape=_Entry, depth=len(init), init=init)
        read = chords.read_port()
        root = delayed(m, self.kind == isa.Scalar.INVERSE_ROOT, len(self._steps), "root")
        # The mantissa's top bit is 1 and not part of the segment.
        segment = mantissa[isa.SCALAR_FRACTION:-1]
        m.d.comb += read.addr.eq(Cat(segment, root & ~zeros[0], root & zeros[0]))
        entry = register(m, read.data, "entry")
        fraction = delayed(m, mantissa[:isa.SCALAR_FRACTION], 2, "fraction")
        product = register(m, _product(entry.slope, fraction), "product")
        base = register(m, entry.base, "base_1")
        return (base - product[isa.SCALAR_FRACTION:])[:16]
