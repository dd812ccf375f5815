"""Fetching, fences and commands in flight."""
from systolith.hw.config import IN_FLIGHT
from systolith.hw.isa import WORDS, Engine, Product
from systolith.sw.estimate.sequencer import Sequencer

SIZE = WORDS[Engine.MATRIX]


def sequencer(*commands, available=None):
    words = [-99] * (SIZE * len(commands)) if available is None else available
    return Sequencer(Engine.MATRIX, commands, words)


def start(unit, time):
    assert unit.requests(time)
    unit.grant(time)
    return unit.accept(time + 1)


def test_a_command_is_complete_one_cycle_after_its_last_word():
    available = list(range(10, 10 + SIZE))
    unit = sequencer(Product(), Product(), available=available)
    assert unit.fetch() == 10 + SIZE
    assert (unit.taken(9), unit.taken(11), unit.taken(99)) == (0, 1, SIZE)
    assert unit.takes(10 + SIZE - 1)
    assert not unit.takes(10 + SIZE)


def test_the_next_command_is_fetched_from_the_cycle_after_the_start():
    unit = sequencer(Product(), Product())
    assert unit.fetch() == 0
    start(unit, 0)
    assert unit.fetch() == 2 + SIZE
    assert not unit.requests(1 + SIZE)
    assert unit.requests(2 + SIZE)


def test_words_that_are_missing_are_awaited():
    available = [-99] * (SIZE - 2)
    unit = sequencer(Product(), available=available)
    assert unit.fetch() is None
    available += [50, 51]
    assert unit.fetch() == 52
    assert unit.fetch() is None, "it is given once"


def test_a_fence_waits_for_all_and_so_do_too_many_commands():
    unit = sequencer(Product(), Product(fence=1))
    unit.fetch()
    start(unit, 0)
    unit.fetch()
    assert not unit.requests(90)
    unit.in_flight = 0
    assert unit.requests(91)
    assert (unit.record.fetched, unit.record.ready, unit.record.fenced) == (2 + SIZE, 91, True)
    unit = sequencer(Product())
    unit.fetch()
    unit.in_flight = IN_FLIGHT
    assert not unit.requests(90)
