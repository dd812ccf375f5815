"""Times in nanoseconds become cycles on the safe side."""
import dataclasses

import pytest

from systolith.hw.config import ConfigError
from systolith.hw.sdram.timing import SdramChip, SdramTiming

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


@pytest.mark.parametrize(("mhz", "late"), [(25, 0), (40, 0), (45, 0), (100, 1), (133, 1)])
def test_data_are_taken_in_the_middle_of_their_time(mhz, late):
    assert TIMING.capture(1e6 * mhz) == late


@pytest.mark.parametrize("mhz", [50, 66, 80])
def test_clocks_that_miss_the_data_are_refused(mhz):
    with pytest.raises(ConfigError, match=f"at {mhz} MHz .* up to 45 MHz or from 91 MHz"):
        TIMING.capture(1e6 * mhz)


def test_the_size_of_a_chip():
    assert SdramChip(row_bits=13, column_bits=9).size == 1 << 25
    assert SdramChip(row_bits=12, column_bits=8).size == 1 << 23


@pytest.mark.parametrize(("field", "value"), [("row_bits", 14), ("row_bits", 7),
                                              ("column_bits", 10), ("column_bits", 3)])
def test_a_chip_that_cannot_be(field, value):
    with pytest.raises(ConfigError, match=f"{field} of an SDRAM must be .*, not {value}"):
        SdramChip(**{field: value})
