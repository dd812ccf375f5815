"""When the next burst of an SDRAM may begin."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from systolith.hw.sdram.interface import SdramAccess
from systolith.hw.sdram.timing import BANKS


class Columns(wiring.Component):
    """Begins a burst as soon as its bank is ready and the data wires will be free.

    A write after a read waits until the chip has let go of the wires, and a cycle more. Bursts of
    one direction follow each other without a gap.

    Parameters
    ----------
    chip : SdramChip
        Geometry.
    cycles : SdramCycles
        Times of the chip.
    burst : int
        Words of a burst.

    Members
    -------
    i : In(stream of SdramAccess)
        Accesses whose rows are open. One is taken in the cycle in which its burst begins.
    can_column : In(BANKS)
        Banks that take a column command.
    has_beat : In(1)
        The beat of the next write is there.
    """

    def __init__(self, *, chip, cycles, burst):
        self._cycles, self._burst = cycles, burst
        super().__init__({"i": In(stream.Signature(SdramAccess(chip))),
                          "can_column": In(BANKS), "has_beat": In(1)})

    def elaborate(self, platform):
        m = Module()
        turn = self._burst + self._cycles.cas + 1
        before_any, before_write = Signal(range(self._burst + 1)), Signal(range(turn))
        access = self.i.payload
        m.d.comb += self.i.ready.eq(
            self.can_column.bit_select(access.bank, 1) & (before_any == 0)
            & (~access.write | (self.has_beat & (before_write == 0))))
        for left in (before_any, before_write):
            with m.If(left != 0):
                m.d.sync += left.eq(left - 1)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += before_any.eq(self._burst - 1)
            with m.If(~access.write):
                m.d.sync += before_write.eq(turn - 1)
        return m
