"""Beats and signals that come to a core: their order, and the engines before them."""
import numpy as np

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.sw.estimate.inbox import Inbox
from systolith.sw.estimate.ports import Ports

ACT, VEC = (Region.ACT, True), (Region.VEC, True)


def inbox():
    ports = Ports(get_config("tiny"), [], {ACT, VEC})
    return ports, Inbox(ports)


def cycles(first, count):
    return np.arange(first, first + count)


def test_a_signal_shows_when_it_comes_if_all_is_written():
    _, box = inbox()
    box.write(ACT, cycles(10, 4))
    box.signal(0b101, 15)
    assert box.advance(20) == ([(0b101, 15)], None)


def test_beats_go_behind_the_engines_and_signals_behind_beats():
    ports, box = inbox()
    ports.writes(Region.ACT, cycles(10, 30))
    box.write(ACT, cycles(8, 4))
    box.signal(1, 13)
    assert box.advance(39) == ([], 40), "two are written before, the others wait"
    assert box.advance(41) == ([(1, 42)], None)


def test_beats_wait_for_the_memory_that_they_are_for_only():
    ports, box = inbox()
    ports.writes(Region.ACT, cycles(10, 30))
    box.write(VEC, cycles(10, 4))
    box.signal(1, 0)
    assert box.advance(13) == ([(1, 14)], None)


def test_what_is_not_known_is_not_settled():
    """Writes of the engines that become known later hold back those that were not settled."""
    ports, box = inbox()
    box.write(ACT, cycles(10, 10))
    assert box.advance(14) == ([], 15)
    ports.writes(Region.ACT, cycles(15, 20))
    assert box.advance(20) == ([], 35)
    box.signal(2, 0)
    assert box.advance(50) == ([(2, 40)], None)


def test_what_comes_first_holds_up_what_comes_then():
    ports, box = inbox()
    ports.writes(Region.ACT, cycles(0, 50))
    box.write(ACT, cycles(3, 1))
    box.write(VEC, cycles(4, 1))
    assert box.advance(40) == ([], 50)
    box.signal(1, 6)
    assert box.advance(60) == ([(1, 52)], None)
