"""Reset of the core after power-up."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: Cycles of reset after the clock has become stable. Block RAMs of the iCE40 must not be read for
#: some microseconds after configuration.
RESET_CYCLES = 1 << 10


class PowerOnReset(wiring.Component):
    """Keeps ``reset`` high for ``RESET_CYCLES`` after ``locked``.

    It works in the domain ``power``, which has the clock of the core and no reset: its registers
    start with the values that the configuration loads.

    Members
    -------
    locked : In(1)
        The clock is stable; may change at any time.
    reset : Out(1)
        Reset of the core.
    """

    def __init__(self):
        super().__init__({"locked": In(1), "reset": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        stable = Signal(2)
        count = Signal(range(RESET_CYCLES))
        m.d.power += [stable.eq(Cat(self.locked, stable[0])),
                     self.reset.eq(~(stable[1] & (count == RESET_CYCLES - 1)))]
        with m.If(~stable[1]):
            m.d.power += count.eq(0)
        with m.Elif(count != RESET_CYCLES - 1):
            m.d.power += count.eq(count + 1)
        return m
