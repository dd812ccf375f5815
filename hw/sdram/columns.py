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
        access = self.i.payload
        begins = self.i.valid & self.i.ready
        any_may = self._wait(m, "before_any", begins, self._burst)
        write_may = self._wait(m, "before_write", begins & ~access.write,
                               self._burst + self._cycles.cas + 1)
        m.d.comb += self.i.ready.eq(
            self.can_column.bit_select(access.bank, 1) & any_may
            & (~access.write | (self.has_beat & write_may)))
        return m

    def _wait(self, m, name, cause, cycles):
        """A register: the cause was so many cycles ago at least."""
        left, over = Signal(range(cycles), name=name), Signal(init=1, name=f"{name}_over")
        with m.If(cause):
            m.d.sync += [left.eq(cycles - 1), over.eq(cycles == 1)]
        with m.Elif(~over):
            m.d.sync += [left.eq(left - 1), over.eq(left == 1)]
        return over
