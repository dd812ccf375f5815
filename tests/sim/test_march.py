"""The march test of memories against memories with faults."""
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.sim.march import march, memories
from systolith.sw.runtime.functional import FunctionalDevice

CONFIG = get_config("tiny")


class FaultyMemory(FunctionalDevice):
    """A device whose activation memory gives what ``spoil(offset, data)`` makes of it."""

    def __init__(self, spoil, alias=lambda offset: offset):
        super().__init__(CONFIG)
        self._spoil, self._alias = spoil, alias

    def write(self, memory, offset, data):
        for at in range(0, len(data), 4):
            super().write(memory, self._alias(offset + at), data[at:at + 4])

    def read(self, memory, offset, size):
        data = bytearray()
        for at in range(offset, offset + size, 4):
            data += self._spoil(at, bytearray(super().read(memory, self._alias(at), 4)))
        return bytes(data)


def stuck(at, bit, value):
    """A bit of one word that sticks."""
    def spoil(offset, word):
        if offset == at:
            mask = 1 << bit % 8
            word[bit // 8] = word[bit // 8] | mask if value else word[bit // 8] & ~mask
        return word
    return spoil


def whole(offset, word):
    return word


def test_a_good_memory_passes():
    device = FunctionalDevice(CONFIG)
    assert Region.ACC not in memories(device)
    assert memories(device)[-1] == "ext"
    result = march(device, Region.ACT)
    assert (result.memory, result.wrong, result.first_wrong) == ("ACT", 0, None)


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("bit", [0, 7, 19, 31])
@pytest.mark.parametrize("at", [0, 1020, 4096, 65532])
def test_a_stuck_bit_is_found(at, bit, value):
    result = march(FaultyMemory(stuck(at, bit, value)), Region.ACT)
    assert (result.wrong, result.first_wrong) == (1, at)


@pytest.mark.parametrize("line", range(2, 16))
def test_an_address_line_that_does_not_count_is_found(line):
    size = FunctionalDevice(CONFIG).size(Region.ACT)
    assert size == 1 << 16
    result = march(FaultyMemory(whole, lambda offset: offset & ~(1 << line)), Region.ACT)
    assert result.wrong > 0


def test_a_short_test_does_not_see_the_middle_and_a_full_one_does():
    fault = stuck(5000, 3, 1)
    assert march(FaultyMemory(fault), Region.ACT).wrong == 0
    result = march(FaultyMemory(fault), Region.ACT, full=True)
    assert (result.tested, result.wrong, result.first_wrong) == (1 << 16, 1, 5000)
