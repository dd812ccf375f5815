"""Refreshes an SDRAM in time, whatever else is going on."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: Refreshes that may be owed; more than one is only while the first is waited for.
OWED = 3


class Refresher(wiring.Component):
    """Asks for the chip once a period, until all that is under way has ended, and refreshes.

    Parameters
    ----------
    period : int
        Cycles from refresh to refresh. The clock of it never stops, so what one refresh is late
        does not delay the next.

    Members
    -------
    enable : In(1)
        The chip can be used; before, time does not count.
    hold : Out(1)
        A refresh is owed: nothing new may begin.
    quiet : In(1)
        Nothing is left to do in the open rows, and all may be closed.
    open : In(1)
        A row is open.
    ready : In(1)
        No row is open, and the chip takes a refresh.
    precharge, refresh : Out(1)
        Close all rows; refresh. Both are done in the same cycle.
    """

    def __init__(self, *, period):
        self._period = period
        super().__init__({"enable": In(1), "hold": Out(1), "quiet": In(1), "open": In(1),
                          "ready": In(1), "precharge": Out(1), "refresh": Out(1)})

    def elaborate(self, platform):
        m = Module()
        left = Signal(range(self._period), init=self._period - 1)
        owed = Signal(range(OWED + 1))
        due = Signal()
        m.d.comb += [
            due.eq(self.enable & (left == 0)), self.hold.eq(owed != 0),
            self.precharge.eq(self.hold & self.quiet & self.open),
            self.refresh.eq(self.hold & self.ready),
        ]
        with m.If(due):
            m.d.sync += left.eq(self._period - 1)
        with m.Elif(self.enable):
            m.d.sync += left.eq(left - 1)
        m.d.sync += owed.eq(owed + due - self.refresh)
        return m
