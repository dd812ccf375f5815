"""The fraction that makes bit times out of a clock."""
import pytest

from systolith.hw.link.baud import MIN_CLOCKS_PER_BIT, PHASE_BITS, baud_step


@pytest.mark.parametrize("clock_hz", [12e6, 24e6, 25e6, 36e6, 48e6, 50e6])
@pytest.mark.parametrize("baud", [115_200, 1e6, 3e6])
def test_usual_rates_are_met_within_a_promille(clock_hz, baud):
    step = baud_step(clock_hz=clock_hz, baud=baud)
    assert abs(step * clock_hz / (1 << PHASE_BITS) / baud - 1) < 0.0035
    assert step <= (1 << PHASE_BITS) // MIN_CLOCKS_PER_BIT


def test_a_clock_that_is_too_slow_is_refused_with_the_best_rate():
    with pytest.raises(ValueError, match=r"^a clock of 1\.2e\+07 Hz has 3\.00 cycles a bit at "
                                         r"4e\+06 baud, but 4 are needed: ask for at most "
                                         r"3e\+06 baud$"):
        baud_step(clock_hz=12e6, baud=4e6)


def test_a_rate_that_cannot_be_met_is_refused_with_its_error():
    with pytest.raises(ValueError, match=r"^9600 baud out of 5e\+07 Hz would be wrong by "
                                         r"\+3\.31 %, but at most 0\.5 % are allowed"):
        baud_step(clock_hz=50e6, baud=9600)


@pytest.mark.parametrize(("name", "value"), [("clock_hz", 0), ("baud", -1), ("baud", "fast"),
                                             ("clock_hz", True)])
def test_numbers_are_positive(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be a positive number, not {value!r}$"):
        baud_step(**{"clock_hz": 12e6, "baud": 1e6, name: value})
