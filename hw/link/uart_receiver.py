"""Bytes from a serial line: one start bit, eight data bits, the lowest first, one stop bit."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.link.baud import PHASE_BITS, BitTimer


class UartReceiver(wiring.Component):
    """Takes bytes from a line that is one when idle; the sender may be 2 % too fast or too slow.

    The start bit's edge is known to a cycle, so every bit is sampled within a cycle of its middle,
    and after 9.5 bits a deviation of 2 % has moved that by 0.19 bits: with at least 4 cycles a bit,
    0.44 in all.

    Parameters
    ----------
    step : int
        From :func:`~systolith.hw.link.baud.baud_step`.

    Members
    -------
    line : In(1)
        In step with the clock.
    valid : Out(1), data : Out(8)
        A byte is there, for one cycle; there is no way to make it wait.
    broken : Out(1)
        A byte without its stop bit was dropped, in this cycle.
    """

    def __init__(self, *, step):
        self._step = step
        super().__init__({"line": In(1, init=1), "valid": Out(1), "data": Out(8),
                          "broken": Out(1)})

    def elaborate(self, platform):
        m = Module()
        # The cycle that saw the edge is on average half a cycle late, the rounding up of a tick
        # half a cycle more.
        m.submodules.timer = timer = BitTimer(
            step=self._step, start=(1 << PHASE_BITS - 1) + self._step)
        left = Signal(range(10))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += timer.restart.eq(1)
                m.d.sync += left.eq(9)
                with m.If(~self.line):
                    m.next = "BITS"
            with m.State("BITS"):
                with m.If(timer.tick):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 0):
                        m.d.comb += [self.valid.eq(self.line), self.broken.eq(~self.line)]
                        with m.If(self.line):
                            m.next = "IDLE"
                        with m.Else():
                            m.next = "LOW"
                    with m.Elif((left == 9) & self.line):
                        m.next = "IDLE"  # a spike, no start bit
                    with m.Else():
                        m.d.sync += self.data.eq(Cat(self.data[1:], self.line))
            with m.State("LOW"):
                with m.If(self.line):
                    m.next = "IDLE"
        return m
