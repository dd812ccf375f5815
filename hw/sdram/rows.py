"""Opens the rows that accesses to an SDRAM need, ahead of them."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.sdram.interface import SdramAccess
from systolith.hw.sdram.timing import BANKS


class Rows(wiring.Component):
    """Lets an access pass once its row is open; for that, asks to close and to open rows.

    Combinational. The accesses that have passed still wait for their turn on the data wires:
    meanwhile the row of the next one is opened in another bank, so a stream that goes from row to
    row loses no time.

    Parameters
    ----------
    chip : SdramChip
        Geometry.

    Members
    -------
    i, o : stream of SdramAccess
        All accesses, and those that may begin.
    hold : In(1)
        Nothing may pass, be opened or closed.
    waiting : In(BANKS)
        For each bank, whether an access that has passed has not begun.
    open, can_activate, can_precharge : In(BANKS), open_rows : In(BANKS * row_bits)
        State of the banks.
    activate, precharge : Out(1)
        What should be done to the bank ``i.p.bank``; at most one of them.
    """

    def __init__(self, *, chip):
        self._chip = chip
        access = stream.Signature(SdramAccess(chip))
        super().__init__({
            "i": In(access), "o": Out(access), "hold": In(1), "waiting": In(BANKS),
            "open": In(BANKS), "can_activate": In(BANKS), "can_precharge": In(BANKS),
            "open_rows": In(BANKS * chip.row_bits), "activate": Out(1), "precharge": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        access = self.i.payload
        right, passes, closes = (Signal(BANKS, name=name) for name in ("right", "passes", "closes"))
        wanted = Signal()

        def of_bank(banks):
            return banks.bit_select(access.bank, 1)

        m.d.comb += [
            # The bank is known late to all of its bits: it chooses among what is known of each.
            right.eq(Cat(self.open_rows.word_select(bank, self._chip.row_bits) == access.row
                         for bank in range(BANKS))),
            passes.eq(self.open & right),
            closes.eq(self.open & ~right & ~self.waiting & self.can_precharge),
            wanted.eq(self.i.valid & ~self.hold),
            self.o.payload.eq(access),
            self.o.valid.eq(wanted & of_bank(passes)),
            self.i.ready.eq(self.o.valid & self.o.ready),
            self.activate.eq(wanted & of_bank(self.can_activate)),
            self.precharge.eq(wanted & of_bank(closes)),
        ]
        return m
