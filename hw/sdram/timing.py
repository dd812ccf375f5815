"""What an SDRAM chip asks for: its geometry, its times, and those in cycles of a clock."""
import math
from dataclasses import dataclass
from typing import NamedTuple

from systolith.hw.config import ConfigError

#: Bits of a word of the chip, and bytes.
WORD_BITS = 16
WORD_BYTES = WORD_BITS // 8

#: Banks of every SDRAM that is meant here.
BANKS = 4

#: Refreshes that must follow the power-up.
STARTUP_REFRESHES = 8

#: Nanoseconds on the way from the FPGA's clock to the chip and back with the data: two pads and
#: the wires, at least and at most. An assumption; the chip's own times are in its data sheet.
ROUND_TRIP_NS = (3.0, 5.0)


class Clocking(NamedTuple):
    """The chip's rising edge is ``quarters`` of a period after that of the FPGA, and ``late`` edges
    of the FPGA's clock pass after it before the one which takes the data."""

    quarters: int
    late: int


@dataclass(frozen=True, kw_only=True)
class SdramTiming:
    """Times of a chip in nanoseconds, with the names of the data sheets.

    The defaults are the slowest of AS4C32M16SB-7, AS4C16M16SA-7, W9825G6-75, IS42S16160-7 and
    MT48LC16M16A2-75, so they fit all of them.

    Parameters
    ----------
    rcd, rp, ras, rc, rfc, rrd, wr, mrd : float
        Activate to column, precharge to activate, activate to precharge, activate to activate of a
        bank, refresh to activate, activate to activate of another bank, last data written to
        precharge, mode register to any command. The last three also take two cycles at least.
    startup : float
        From stable clock to the first command.
    refresh : float
        From refresh to refresh on average: 64 ms for 8192 of them.
    ac, oh : float
        From a clock edge to data, at most, and how long the data stay after the next, at least.
    cas2 : float
        Shortest clock period with a CAS latency of 2; below it is 3.
    """

    rcd: float = 21
    rp: float = 21
    ras: float = 45
    rc: float = 66
    rfc: float = 66
    rrd: float = 15
    wr: float = 15
    mrd: float = 15
    startup: float = 200_000
    refresh: float = 64e6 / 8192
    ac: float = 6
    oh: float = 2.5
    cas2: float = 10

    def cycles(self, clock_hz: float) -> "SdramCycles":
        """These times in cycles of a clock, rounded to the safe side."""
        def at_least(nanoseconds: float, cycles: int = 1) -> int:
            # A clock of 40 MHz must not make 3 cycles of 50 ns by a rounding error.
            return max(cycles, math.ceil(nanoseconds * clock_hz / 1e9 - 1e-6))

        return SdramCycles(
            rcd=at_least(self.rcd), rp=at_least(self.rp), ras=at_least(self.ras),
            rc=at_least(self.rc), rfc=at_least(self.rfc), rrd=at_least(self.rrd, 2),
            wr=at_least(self.wr, 2), mrd=at_least(self.mrd, 2), startup=at_least(self.startup),
            # One less: what a single refresh is late must not add up over the 8192 of them.
            refresh=math.floor(self.refresh * clock_hz / 1e9) - 1,
            cas=2 if 1e9 / clock_hz >= self.cas2 else 3)

    def clocking(self, clock_hz: float) -> Clocking:
        """When the chip gets its clock, and which edge of the FPGA's takes its data.

        The chip takes commands some quarters of a period after the pads have changed: at least one
        of set-up time and one of hold time. It drives data from its edge on; the FPGA's next edge
        may be too soon for them. Half a period where it will do, or else what leaves the data most
        time.

        Raises
        ------
        ConfigError
            When the data are valid at no edge, at whatever quarter the chip gets its clock.
        """
        period = 1e9 / clock_hz
        found = {Clocking(quarters, late): self._spare(period, quarters, late)
                 for quarters in (1, 2, 3) for late in range(2)}
        good = [clocking for clocking, spare in found.items() if spare >= 0]
        if not good:
            raise ConfigError(
                f"at {clock_hz / 1e6:g} MHz no edge of the FPGA's clock meets the SDRAM's data: "
                f"take a clock up to {1750 / (self.ac + ROUND_TRIP_NS[1]):.0f} MHz")
        return max(good, key=lambda clocking: (clocking.quarters == 2, found[clocking]))

    def _spare(self, period: float, quarters: int, late: int) -> float:
        """Nanoseconds that the data are there before the edge that takes them or after it,
        whichever is less; negative when they are not."""
        shortest, longest = ROUND_TRIP_NS
        edge = (1 - quarters / 4 + late) * period
        return min(edge - self.ac - longest, period + self.oh + shortest - edge)


@dataclass(frozen=True, kw_only=True)
class SdramCycles:
    """Times of a chip in cycles: see :class:`SdramTiming`. ``cas`` is the CAS latency."""

    rcd: int
    rp: int
    ras: int
    rc: int
    rfc: int
    rrd: int
    wr: int
    mrd: int
    startup: int
    refresh: int
    cas: int


@dataclass(frozen=True, kw_only=True)
class SdramChip:
    """A chip of four banks and words of 16 bits.

    Parameters
    ----------
    row_bits, column_bits : int
        Bits of the number of a row, at most 13, and of a word in it, at most 9. A chip with more
        columns works, too; a part of it stays unused.
    timing : SdramTiming
        Its times.

    Raises
    ------
    ConfigError
        When a number of bits cannot be.
    """

    row_bits: int = 13
    column_bits: int = 9
    timing: SdramTiming = SdramTiming()

    def __post_init__(self):
        for name, low, high in (("row_bits", 8, 13), ("column_bits", 4, 9)):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{name} of an SDRAM must be from {low} to {high}, "
                                  f"not {getattr(self, name)}")

    @property
    def size(self) -> int:
        """Bytes."""
        return BANKS * WORD_BYTES << self.row_bits + self.column_bits
