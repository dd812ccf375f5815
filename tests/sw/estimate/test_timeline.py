"""Ports in use, cycle by cycle."""
import numpy as np
import pytest

from systolith.sw.estimate.timeline import Timeline, spaced


def one_by_one(taken, ready, after):
    """The definition of :meth:`Timeline.place`."""
    result = []
    for first in ready:
        cycle = max(first, after + 1)
        while cycle in taken:
            cycle += 1
        result.append(cycle)
        after = cycle
    return result


def test_spaced_events_keep_their_order_and_distance():
    assert spaced(np.array([5, 5, 5, 20, 21]), 3).tolist() == [5, 6, 7, 20, 21]
    assert spaced(np.array([5, 5]), 9).tolist() == [10, 11]


@pytest.mark.parametrize("seed", range(20))
def test_an_access_gets_the_first_free_cycle(seed):
    rng = np.random.default_rng(seed)
    taken = np.unique(rng.integers(0, 6000, rng.integers(1, 5000)))
    line = Timeline()
    line.mark(taken)
    ready, after = np.sort(rng.integers(0, 5500, 60)), int(rng.integers(-1, 5000))
    assert line.place(ready, after).tolist() == one_by_one(set(taken.tolist()), ready, after)


def test_a_line_that_nobody_marked_is_free():
    assert Timeline().place(np.array([1 << 14, 0]), 3).tolist() == [1 << 14, (1 << 14) + 1]
