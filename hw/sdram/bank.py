"""What is open in a bank of an SDRAM, and what it may be asked for now."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Bank(wiring.Component):
    """Remembers the row and counts the times of one bank.

    Parameters
    ----------
    cycles : SdramCycles
        Times of the chip.
    burst : int
        Words that a column command moves.
    row_bits : int
        Bits of a row's number.

    Members
    -------
    activate : In(1), row : In(row_bits)
        The row is opened in this cycle.
    column, write : In(1)
        A burst begins in this cycle, and it writes.
    precharge, refresh : In(1)
        The row is closed; the chip is refreshed.
    open : Out(1), open_row : Out(row_bits)
        A row is open, and which.
    can_activate, can_column, can_precharge : Out(1)
        The bank takes this now. ``can_activate`` needs a closed bank and ``can_column`` an open
        one; ``can_precharge`` says only that nothing speaks against it.
    """

    def __init__(self, *, cycles, burst, row_bits):
        self._cycles, self._burst, self._row_bits = cycles, burst, row_bits
        super().__init__({
            "activate": In(1), "row": In(row_bits), "column": In(1), "write": In(1),
            "precharge": In(1), "refresh": In(1),
            "open": Out(1), "open_row": Out(row_bits),
            "can_activate": Out(1), "can_column": Out(1), "can_precharge": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        cycles, burst = self._cycles, self._burst
        may_activate = self._wait(m, "before_activate", (
            (self.activate, cycles.rc), (self.precharge, cycles.rp),
            (self.refresh, max(cycles.rfc, cycles.rc))))
        may_column = self._wait(m, "before_column", ((self.activate, cycles.rcd),))
        may_precharge = self._wait(m, "before_precharge", (
            (self.activate, cycles.ras), (self.column & self.write, burst - 1 + cycles.wr),
            # A precharge would cut the burst off.
            (self.column & ~self.write, burst)))
        m.d.comb += [
            self.can_activate.eq(~self.open & may_activate),
            self.can_column.eq(self.open & may_column),
            self.can_precharge.eq(may_precharge),
        ]
        with m.If(self.activate):
            m.d.sync += [self.open.eq(1), self.open_row.eq(self.row)]
        with m.Elif(self.precharge):
            m.d.sync += self.open.eq(0)
        return m

    def _wait(self, m, name, causes):
        """A register: nothing is left to wait for. Each cause lets it be so many cycles after its
        own at least."""
        left = Signal(range(max(cycles for _, cycles in causes)), name=name)
        # It is set in time, as the next command depends on it.
        over = Signal(init=1, name=f"{name}_over")
        with m.If(~over):
            m.d.sync += [left.eq(left - 1), over.eq(left == 1)]
        for event, cycles in causes:
            with m.If(event & (left < cycles)):
                m.d.sync += [left.eq(cycles - 1), over.eq(cycles == 1)]
        return over
