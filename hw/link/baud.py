"""Bit times out of the clock."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: Bits of the phase of a bit.
PHASE_BITS = 16
#: Fewer clock cycles a bit leave no room for a baud rate that is 2 % off.
MIN_CLOCKS_PER_BIT = 4
#: Largest deviation of the baud rate, percent.
TOLERANCE_PERCENT = 0.5


def baud_step(*, clock_hz, baud):
    """What is added to the phase of a bit in each cycle: ``2**16 * baud / clock_hz``, rounded.

    Raises
    ------
    ValueError
        When the clock is too slow or too fast for the baud rate; the message names the error in
        percent or the cycles a bit.
    """
    for name, value in (("clock_hz", clock_hz), ("baud", baud)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise ValueError(f"{name} must be a positive number, not {value!r}")
    if clock_hz < MIN_CLOCKS_PER_BIT * baud:
        raise ValueError(
            f"a clock of {clock_hz:g} Hz has {clock_hz / baud:.2f} cycles a bit at {baud:g} baud, "
            f"but {MIN_CLOCKS_PER_BIT} are needed: ask for at most "
            f"{clock_hz // MIN_CLOCKS_PER_BIT:g} baud")
    step = round((1 << PHASE_BITS) * baud / clock_hz)
    error = 100 * (step * clock_hz / (baud * (1 << PHASE_BITS)) - 1)
    if abs(error) > TOLERANCE_PERCENT:
        raise ValueError(
            f"{baud:g} baud out of {clock_hz:g} Hz would be wrong by {error:+.2f} %, but at most "
            f"{TOLERANCE_PERCENT} % are allowed: ask for a higher baud rate")
    return step


class BitTimer(wiring.Component):
    """Divides the clock by a fraction. Ticks come within a cycle of their true time.

    Parameters
    ----------
    step : int
        From :func:`baud_step`.
    start : int
        Phase after ``restart``: the first tick comes ``(2**16 - start) / step`` cycles later,
        rounded up.

    Members
    -------
    restart : In(1)
        The next cycle has the phase ``start``.
    tick : Out(1)
        A bit time is over.
    """

    def __init__(self, *, step, start):
        self._step, self._start = step, start
        super().__init__({"restart": In(1), "tick": Out(1)})

    def elaborate(self, platform):
        m = Module()
        phase = Signal(PHASE_BITS)
        following = Signal(PHASE_BITS + 1)
        m.d.comb += [following.eq(phase + self._step), self.tick.eq(following[-1])]
        m.d.sync += phase.eq(Mux(self.restart, self._start, following))
        return m
