"""Ranges."""
import pytest

from systolith.sw.estimate.span import Span, total


def test_both_ends_are_added_and_multiplied():
    assert Span(1, 2) + Span(3, 5) == Span(4, 7)
    assert Span(1, 2) * Span(3, 5) == Span(3, 10)
    assert Span(1, 2) * 3 == Span(3, 6)
    assert total([Span(1, 2), Span(1, 1)]) == Span(2, 3)
    assert (Span(1, 2).middle, Span(1, 2).as_json()) == (1.5, [1, 2])


@pytest.mark.parametrize("ends", [(2, 1), (-1, 1)])
def test_ends_that_cannot_be(ends):
    with pytest.raises(ValueError, match=f"not from {ends[0]} to {ends[1]}"):
        Span(*ends)
