"""Times in nanoseconds become cycles on the safe side."""
import dataclasses

import pytest

from systolith.hw.config import ConfigError
from systolith.hw.sdram.timing import ROUND_TRIP_NS, SdramChip, SdramTiming

TIMING = SdramTiming()
#: Those with a least number of cycles of their own.
LEAST = {"rrd": 2, "wr": 2, "mrd": 2}


@pytest.mark.parametrize("mhz", [24, 40, 44.4, 100, 133])
def test_no_time_is_shorter_than_asked_for_and_none_a_cycle_longer(mhz):
    cycles, period = dataclasses.asdict(TIMING.cycles(1e6 * mhz)), 1000 / mhz
    for name in ("rcd", "rp", "ras", "rc", "rfc", "rrd", "wr", "mrd", "startup"):
        least = max(getattr(TIMING, name) / period, LEAST.get(name, 1))
        assert least - 1e-3 <= cycles[name] < least + 1, name
    assert cycles["cas"] == (2 if mhz <= 100 else 3)


@pytest.mark.parametrize("mhz", [24, 40, 100, 133])
def test_all_rows_are_refreshed_in_time(mhz):
    """8192 refreshes, and the last of them late by a whole period of refreshes."""
    period = TIMING.cycles(1e6 * mhz).refresh
    assert (8192 + 1) * period / (1e6 * mhz) <= 64e-3


def test_a_time_of_whole_cycles_is_not_rounded_up():
    assert SdramTiming(rc=75).cycles(40e6).rc == 3


@pytest.mark.parametrize(("mhz", "quarters", "late"), [
    (24, 2, 0), (40, 2, 0), (45, 2, 0), (50, 1, 0), (60, 1, 0), (75, 3, 1), (96, 2, 1),
    (133, 2, 1)])
def test_the_chip_has_half_a_period_or_what_leaves_the_data_most_time(mhz, quarters, late):
    assert TIMING.clocking(1e6 * mhz) == (quarters, late)


@pytest.mark.parametrize("mhz", range(24, 134))
def test_commands_and_data_are_there_at_every_clock(mhz):
    period, (quarters, late) = 1000 / mhz, TIMING.clocking(1e6 * mhz)
    # The slowest chips ask for 2 ns before their edge and 1 ns after it; the rest is for the wires.
    assert min(quarters, 4 - quarters) / 4 * period >= 2.5
    chip = quarters / 4 * period
    taken = (1 + late) * period
    assert chip + TIMING.ac + ROUND_TRIP_NS[1] <= taken
    assert taken <= chip + period + TIMING.oh + ROUND_TRIP_NS[0]


def test_a_clock_that_misses_the_data_is_refused():
    with pytest.raises(ConfigError, match=r"at 170 MHz .* take a clock up to 159 MHz"):
        TIMING.clocking(170e6)


def test_the_size_of_a_chip():
    assert SdramChip(row_bits=13, column_bits=9).size == 1 << 25
    assert SdramChip(row_bits=12, column_bits=8).size == 1 << 23


@pytest.mark.parametrize(("field", "value"), [("row_bits", 14), ("row_bits", 7),
                                              ("column_bits", 10), ("column_bits", 3)])
def test_a_chip_that_cannot_be(field, value):
    with pytest.raises(ConfigError, match=f"{field} of an SDRAM must be .*, not {value}"):
        SdramChip(**{field: value})
