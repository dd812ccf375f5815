"""Words that are given back in the order in which they were taken."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.window import Window


@pytest.fixture
def window():
    return Window(Buffer(Region.WGT, 100, 10))


def test_side_by_side_then_around(window):
    assert [window.take(4), window.take(4), window.take(4)] == [
        Buffer(Region.WGT, 100, 4), Buffer(Region.WGT, 104, 4), None]
    window.release()
    assert window.take(4) == Buffer(Region.WGT, 100, 4)
    assert window.take(1) is None
    window.release()
    assert window.take(2) == Buffer(Region.WGT, 104, 2)


def test_all_of_it_and_nothing(window):
    assert window.take(11) is None
    assert window.take(10).base == 100
    assert window.take(1) is None
    assert window.take(0).words == 0
    window.release()
    window.release()
    assert window.take(10).base == 100


def test_what_was_taken_last_can_go_back(window):
    window.take(4)
    window.take(6)
    window.undo()
    assert window.take(6).base == 104


def test_no_word_is_used_twice():
    window, rng, used = Window(Buffer(Region.VEC, 0, 37)), np.random.default_rng(5), []
    for _ in range(2000):
        taken = window.take(int(rng.integers(0, 15)))
        if taken is not None:
            mine = set(range(taken.base, taken.base + taken.words))
            assert not mine & set().union(*used)
            assert taken.base + taken.words <= 37
            used.append(mine)
        elif used:
            used.pop(0)
            window.release()
