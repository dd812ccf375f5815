"""Selection and combination of scale words."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.isa import MULTIPLIER_BITS, SHIFT_BITS
from systolith.hw.vector.delay import register

#: The multiplier (unsigned) and right shift of a scale.
SCALE_WORD = data.StructLayout({"multiplier": MULTIPLIER_BITS, "shift": SHIFT_BITS})

#: Cycles from factors to combined words.
SCALE_WORD_LATENCY = 2


class ScaleWords(wiring.Component):
    """Product of two scale words as a scale word, ``numerics.combine_scales``, or one alone.

    Latency :data:`SCALE_WORD_LATENCY`, one beat a cycle.

    Parameters
    ----------
    lanes : int
        Elements of a beat.

    Members
    -------
    first : In(lanes of SCALE_WORD)
        First factor of each lane.
    second : In(SCALE_WORD)
        Second factor, the row's.
    both : In(1)
        Whether the second factor counts.
    word : Out(lanes of SCALE_WORD)
        The products: upper 16 bits of the multipliers' product, rounded half up; shift
        ``s1 + s2 - 16``, clamped to 0..63.
    """

    def __init__(self, *, lanes):
        words = data.ArrayLayout(SCALE_WORD, lanes)
        super().__init__({"first": In(words), "second": In(SCALE_WORD), "both": In(1),
                          "word": Out(words)})

    def elaborate(self, platform):
        m = Module()
        both = register(m, self.both, "both_1")
        for lane, first in enumerate(self.first):
            product = register(m, first.multiplier * self.second.multiplier, f"product_{lane}")
            total = register(m, first.shift + self.second.shift, f"total_{lane}")
            alone = register(m, first, f"alone_{lane}")
            word = Signal(SCALE_WORD, name=f"word_{lane}", reset_less=True)
            with m.If(both):
                m.d.sync += word.multiplier.eq((product + (1 << 15))[16:32])
                m.d.sync += word.shift.eq(self._clamp(total))
            with m.Else():
                m.d.sync += word.eq(alone)
            m.d.comb += self.word[lane].eq(word)
        return m

    def _clamp(self, total):
        """``total - 16`` inside 0..63 for ``total`` in 0..126."""
        low = total[4:] == 0
        high = total >= 64 + 16
        # Bits 6:4 lose 1, as 16 is bit 4.
        shifted = Cat(total[:4], (total[4:] - 1)[:2])
        return Mux(low, 0, Mux(high, 63, shifted))
