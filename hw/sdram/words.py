"""Between the beats of the bus and the words of an SDRAM."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.sdram.timing import WORD_BITS


class BeatToWords(wiring.Component):
    """Sends a beat as words, the lowest first, one a cycle, from the cycle after ``start`` on.

    Parameters
    ----------
    burst : int
        Words of a beat.

    Members
    -------
    start : In(1), beat : In(burst * 16)
        Begin with this beat, at most once in ``burst`` cycles.
    word : Out(16), valid : Out(1)
        A word, from registers.
    """

    def __init__(self, *, burst):
        self._burst = burst
        super().__init__({"start": In(1), "beat": In(burst * WORD_BITS),
                          "word": Out(WORD_BITS), "valid": Out(1)})

    def elaborate(self, platform):
        m = Module()
        words = Signal(self._burst * WORD_BITS, reset_less=True)
        left = Signal(range(self._burst + 1))
        m.d.comb += [self.word.eq(words), self.valid.eq(left != 0)]
        with m.If(self.start):
            m.d.sync += [words.eq(self.beat), left.eq(self._burst)]
        with m.Else():
            m.d.sync += words.eq(words[WORD_BITS:])
            with m.If(left != 0):
                m.d.sync += left.eq(left - 1)
        return m


class WordsToBeat(wiring.Component):
    """Gathers the words of a burst that was begun some cycles ago.

    Parameters
    ----------
    burst : int
        Words of a beat.
    delay : int
        Cycles from ``start`` to the first word.

    Members
    -------
    start : In(1)
        A burst that reads begins, at most once in ``burst`` cycles.
    word : In(16)
        The data wires.
    beat : Out(burst * 16), valid : Out(1)
        A beat, from registers, the cycle after its last word.
    """

    def __init__(self, *, burst, delay):
        self._burst, self._delay = burst, delay
        super().__init__({"start": In(1), "word": In(WORD_BITS),
                          "beat": Out(burst * WORD_BITS), "valid": Out(1)})

    def elaborate(self, platform):
        m = Module()
        under_way = Signal(self._delay + self._burst - 1)
        words = Signal(self._burst * WORD_BITS, reset_less=True)
        m.d.comb += self.beat.eq(words)
        m.d.sync += [under_way.eq(Cat(self.start, under_way[:-1])),
                     self.valid.eq(under_way[-1]), words.eq(Cat(words[WORD_BITS:], self.word))]
        return m
