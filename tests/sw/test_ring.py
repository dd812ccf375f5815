"""Words that go around."""
import pytest

from systolith.hw.config import Region
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.ring import Ring


def test_words_side_by_side_then_from_the_start():
    ring = Ring(Buffer(Region.WGT, 100, 10))
    assert [ring.take(words).base for words in (4, 4, 4, 10, 1)] == [100, 104, 100, 100, 100]


def test_the_whole_ring_is_used():
    ring = Ring(Buffer(Region.CONST, 0, 8))
    assert [ring.take(4) for _ in range(3)] == [
        Buffer(Region.CONST, base, 4) for base in (0, 4, 0)]


def test_too_much():
    with pytest.raises(ValueError, match="11 words do not fit a ring of 10"):
        Ring(Buffer(Region.WGT, 0, 10)).take(11)
