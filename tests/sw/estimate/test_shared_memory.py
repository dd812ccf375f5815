"""One memory for many cores: its rate is divided, and nobody's beats change their order."""
import numpy as np
import pytest

from systolith.sw.estimate.shared_memory import SharedMemory


def ask(user, start, count):
    return user.place(np.arange(start, start + count)).tolist()


def test_a_single_user_is_not_held_back():
    assert ask(SharedMemory(1).user(), 5, 100) == list(range(5, 105))


@pytest.mark.parametrize("gap", [1, 2.5, 8])
def test_users_together_get_its_rate(gap):
    memory = SharedMemory(gap)
    users = [memory.user() for _ in range(3)]
    moved = [cycle for turn in range(20) for user in users for cycle in ask(user, 4 * turn, 4)]
    assert len(set(moved)) == len(moved)
    assert max(moved) == pytest.approx(gap * (3 * 80 - 1), abs=1)


def test_a_user_keeps_its_order_where_others_left_room():
    memory = SharedMemory(1)
    first, second = memory.user(), memory.user()
    ask(second, 0, 8)
    assert ask(first, 0, 4) == [8, 9, 10, 11]
    assert ask(first, 4, 2) == [12, 13]
    assert ask(second, 30, 2) == [30, 31]


def test_nothing_takes_no_time():
    assert ask(SharedMemory(2).user(), 0, 0) == []
