"""Bytes onto a serial line: one start bit, eight data bits, the lowest first, one stop bit."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.link.baud import BitTimer


class UartSender(wiring.Component):
    """Sends bytes without gaps as long as there are some.

    Parameters
    ----------
    step : int
        From :func:`~systolith.hw.link.baud.baud_step`.

    Members
    -------
    i : In(stream of 8 bits)
        The bytes.
    line : Out(1)
        One when idle.
    """

    def __init__(self, *, step):
        self._step = step
        super().__init__({"i": In(stream.Signature(8)), "line": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.timer = timer = BitTimer(step=self._step, start=0)
        bits = Signal(8)
        left = Signal(range(11))  # bit times until the line is free, the stop bit's included
        idle = Signal()
        m.d.comb += [idle.eq(left == 0), timer.restart.eq(idle),
                     self.i.ready.eq(idle | (timer.tick & (left == 1)))]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [self.line.eq(0), bits.eq(self.i.payload), left.eq(10)]
        with m.Elif(timer.tick & ~idle):
            # Ones move in behind the data: the last of them is the stop bit.
            m.d.sync += [self.line.eq(bits[0]), bits.eq(Cat(bits[1:], 1)), left.eq(left - 1)]
        return m
