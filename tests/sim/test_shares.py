"""What was lost, in percent that add up."""
import numpy as np
import pytest

from systolith.hw.isa import Engine, Function, Pass, Product
from systolith.sim.measure import Measure
from systolith.sim.shares import SHARES, lost_shares, masked_macs, percentages
from tests.sim.traces import BUSY, IDLE, TINY, make_trace

PEAK = TINY.peak_macs_per_cycle


@pytest.mark.parametrize("parts", [(1, 1, 1), (0, 7, 3), (1, 999_999, 13), (5, 0, 0), (2, 2, 3)])
def test_percentages_add_up(parts):
    shares = percentages(dict(enumerate(parts)))
    assert sum(round(share * 1000) for share in shares.values()) == 100_000
    for name, share in shares.items():
        assert share == pytest.approx(100 * parts[name] / sum(parts), abs=1e-3)


def test_masked_scores_are_counted_once_in_scores_and_once_in_mixed_values():
    power = Pass(rows=4, valid=6, position=3, causal=1, function=Function.EXP2)
    # Rows see 4, 5, 6 and 6 of 6 keys.
    assert masked_macs([power], 10) == 2 * 10 * 3
    mask = np.arange(6) <= 3 + np.arange(4)[:, None]
    assert masked_macs([power], 1) == 2 * np.count_nonzero(~mask)


def test_only_causal_powers_are_masked():
    """Not the pass for the maximum of the same scores, and not where nothing is masked."""
    maximum = Pass(rows=4, valid=6, causal=1)
    full = Pass(rows=4, valid=6, function=Function.EXP2)
    assert masked_macs([maximum, full, Product()], 10) == 0


def test_masked_work_is_no_padding():
    trace = make_trace(100, states=[(IDLE, 0, 10, 0), (BUSY, 10, 90, 0), (IDLE, 90, 100, 0)],
                       program={Engine.VECTOR: (Pass(rows=4, valid=4, causal=1,
                                                     function=Function.EXP2),)})
    masked = 2 * 8 * 6
    macs = 80 * PEAK - masked - 5 * PEAK
    shares = lost_shares(Measure(TINY, macs, trace.counters()), trace, head_dim=8)
    assert list(shares) == list(SHARES)
    assert shares["masked"] == pytest.approx(masked / PEAK)
    assert (shares["padding"], shares["before_first"], shares["after_last"]) == (5, 10, 10)
    assert sum(shares.values()) + macs / PEAK == pytest.approx(100)
