"""Chooses the command of each cycle for an SDRAM."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.sdram.accesses import Accesses
from systolith.hw.sdram.bank import Bank
from systolith.hw.sdram.columns import Columns
from systolith.hw.sdram.interface import ALL_BANKS, Command, RowCommand, SdramAccess
from systolith.hw.sdram.refresh import Refresher
from systolith.hw.sdram.rows import Rows
from systolith.hw.sdram.startup import Startup
from systolith.hw.sdram.timing import BANKS

#: Accesses whose rows are open. So many bursts hide how long the next row takes to open.
WAITING = 4


class Scheduler(wiring.Component):
    """Serves accesses in order; refreshes in between, and starts the chip before.

    A burst goes first, then a row that must be closed or opened: a burst takes one command and as
    many cycles as it has words, so there is room between.

    Parameters
    ----------
    chip : SdramChip
        Geometry.
    cycles : SdramCycles
        Times of the chip.
    burst : int
        Words of a burst: 2, 4 or 8.

    Members
    -------
    i : In(stream of SdramAccess)
        Accesses.
    has_beat : In(1)
        The beat of the next write is there.
    o : Out(RowCommand)
        To the chip, from registers.
    begins, writes : Out(1)
        A burst begins: its command is in ``o`` in the next cycle. Whether it writes.
    started : Out(1)
        The chip can be used.
    """

    def __init__(self, *, chip, cycles, burst):
        self._chip, self._cycles, self._burst = chip, cycles, burst
        super().__init__({
            "i": In(stream.Signature(SdramAccess(chip))), "has_beat": In(1),
            "o": Out(RowCommand()), "begins": Out(1), "writes": Out(1), "started": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.startup = startup = Startup(cycles=self._cycles, burst=self._burst)
        m.submodules.refresher = refresher = Refresher(period=self._cycles.refresh)
        m.submodules.rows = rows = Rows(chip=self._chip)
        m.submodules.waiting = waiting = Accesses(chip=self._chip, depth=WAITING)
        m.submodules.columns = columns = Columns(chip=self._chip, cycles=self._cycles,
                                                 burst=self._burst)
        connect(m, flipped(self.i), rows.i)
        connect(m, rows.o, waiting.i)
        connect(m, waiting.o, columns.i)
        m.d.comb += [
            columns.has_beat.eq(self.has_beat), rows.waiting.eq(waiting.banks),
            rows.hold.eq(refresher.hold | ~startup.done),
            self.begins.eq(columns.i.valid & columns.i.ready),
            self.writes.eq(columns.i.p.write), self.started.eq(startup.done),
            refresher.enable.eq(startup.done),
        ]
        choice = Signal(RowCommand())
        m.d.comb += [choice.command.eq(startup.command), choice.address.eq(startup.address)]
        activate, precharge = self._choose(m, rows, columns, refresher, choice)
        self._banks(m, rows, columns, refresher, waiting, activate, precharge)
        m.d.sync += self.o.eq(choice)
        return m

    def _choose(self, m, rows, columns, refresher, choice):
        """The command of this cycle; whether it opens or closes the row of ``rows.i``."""
        activate, precharge = Signal(), Signal()
        before_activate = Signal(range(self._cycles.rrd))
        may = Signal(init=1)  # a register, set in time
        with m.If(~may):
            m.d.sync += [before_activate.eq(before_activate - 1), may.eq(before_activate == 1)]
        # A row is open or closed, so one of them is asked for at most.
        m.d.comb += [activate.eq(rows.activate & may & ~self.begins),
                     precharge.eq(rows.precharge & ~self.begins)]
        with m.If(self.begins):
            access = columns.i.payload
            m.d.comb += [choice.command.eq(Mux(access.write, Command.WRITE, Command.READ)),
                         choice.bank.eq(access.bank), choice.address.eq(access.column)]
        with m.Elif(rows.activate & may):
            m.d.comb += [choice.command.eq(Command.ACTIVATE),
                         choice.bank.eq(rows.i.p.bank), choice.address.eq(rows.i.p.row)]
            m.d.sync += [before_activate.eq(self._cycles.rrd - 1), may.eq(0)]
        with m.Elif(rows.precharge):
            m.d.comb += [choice.command.eq(Command.PRECHARGE),
                         choice.bank.eq(rows.i.p.bank), choice.address.eq(0)]
        with m.Elif(refresher.precharge):
            m.d.comb += [choice.command.eq(Command.PRECHARGE), choice.address.eq(ALL_BANKS)]
        with m.Elif(refresher.refresh):
            m.d.comb += choice.command.eq(Command.REFRESH)
        return activate, precharge

    def _banks(self, m, rows, columns, refresher, waiting, activate, precharge):
        banks = [Bank(cycles=self._cycles, burst=self._burst, row_bits=self._chip.row_bits)
                 for _ in range(BANKS)]
        for index, bank in enumerate(banks):
            m.submodules[f"bank_{index}"] = bank
            chosen = rows.i.p.bank == index
            m.d.comb += [
                bank.activate.eq(activate & chosen), bank.row.eq(rows.i.p.row),
                bank.column.eq(self.begins & (columns.i.p.bank == index)),
                bank.write.eq(columns.i.p.write),
                bank.precharge.eq((precharge & chosen) | refresher.precharge),
                bank.refresh.eq(refresher.refresh),
            ]
        for name in ("open", "can_activate", "can_precharge"):
            m.d.comb += getattr(rows, name).eq(Cat(getattr(bank, name) for bank in banks))
        m.d.comb += [
            rows.open_rows.eq(Cat(bank.open_row for bank in banks)),
            columns.can_column.eq(Cat(bank.can_column for bank in banks)),
            refresher.quiet.eq(~waiting.o.valid & rows.can_precharge.all()),
            refresher.open.eq(rows.open.any()), refresher.ready.eq(rows.can_activate.all()),
        ]
