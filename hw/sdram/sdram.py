"""External memory in an SDRAM chip."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.external_share import ExternalUser
from systolith.hw.sdram.interface import SdramPins
from systolith.hw.sdram.requests import Requests
from systolith.hw.sdram.scheduler import Scheduler
from systolith.hw.sdram.timing import WORD_BITS, WORD_BYTES
from systolith.hw.sdram.words import BeatToWords, WordsToBeat

#: Cycles from the choice of a command to the clock edge of the chip that sees it: one register
#: here, one in the pad. Data come back through a register in the pad.
OUT_CYCLES = 2
#: Bytes of a beat that make a burst.
BUS_BYTES = (4, 8, 16)


class Sdram(wiring.Component):
    """An SDRAM of 16 bits behind the port of an external memory.

    At most two bytes a cycle. A stream of one direction reaches that but for the refreshes, about
    ten cycles each; a change from reading to writing costs ``cas + 1`` cycles, an access to
    another row of the same bank about ``rp + rcd + 1``.

    Parameters
    ----------
    bus_bytes : int
        Bytes of a beat: 4, 8 or 16. A beat is one burst.
    chip : SdramChip
        Geometry and times.
    clock_hz : number
        The clock.
    cycles : SdramCycles, optional
        Times in cycles, instead of those that follow from chip and clock.

    Members
    -------
    user : In(ExternalUser)
        See :class:`~systolith.hw.external.ExternalPort`.
    forget : In(1)
        Drop the beats that were asked for and not taken, for a user that is reset. What was
        accepted to be written is written.
    pins : Out(SdramPins)
        To the chip, from registers; the pads have another register each.
    data : In(16)
        The data wires, as the registers of their pads took them.

    Raises
    ------
    ValueError
        When a beat is no burst.
    ConfigError
        When the clock does not go with the chip.
    """

    def __init__(self, *, bus_bytes, chip, clock_hz, cycles=None):
        if bus_bytes not in BUS_BYTES:
            raise ValueError(f"bus_bytes must be one of {', '.join(map(str, BUS_BYTES))}, "
                             f"not {bus_bytes!r}")
        self._bus_bytes, self._chip = bus_bytes, chip
        self._cycles = cycles or chip.timing.cycles(clock_hz)
        self._late = chip.timing.clocking(clock_hz).late
        super().__init__({
            "user": In(ExternalUser(bus_bytes=bus_bytes)), "forget": In(1),
            "pins": Out(SdramPins()), "data": In(WORD_BITS)})

    @property
    def size(self):
        """Bytes."""
        return self._chip.size

    def elaborate(self, platform):
        m = Module()
        burst = self._bus_bytes // WORD_BYTES
        m.submodules.requests = requests = Requests(chip=self._chip, bus_bytes=self._bus_bytes)
        m.submodules.spread = spread = BeatToWords(burst=burst)
        m.submodules.gather = gather = WordsToBeat(
            burst=burst, delay=OUT_CYCLES + self._cycles.cas + self._late)
        m.submodules.scheduler = scheduler = Scheduler(chip=self._chip, cycles=self._cycles,
                                                       burst=burst)
        connect(m, flipped(self.user), requests.user)
        connect(m, requests.o, scheduler.i)
        begins_write = scheduler.begins & scheduler.writes
        m.d.comb += [
            scheduler.has_beat.eq(requests.has_beat), requests.forget.eq(self.forget),
            requests.take.eq(begins_write),
            spread.start.eq(begins_write), spread.beat.eq(requests.beat),
            gather.start.eq(scheduler.begins & ~scheduler.writes), gather.word.eq(self.data),
            requests.read.eq(gather.beat), requests.got.eq(gather.valid),
            self.pins.command.eq(scheduler.o.command), self.pins.bank.eq(scheduler.o.bank),
            self.pins.address.eq(scheduler.o.address),
            self.pins.mask.eq(~scheduler.started),
            self.pins.data.eq(spread.word), self.pins.drive.eq(spread.valid),
        ]
        return m
