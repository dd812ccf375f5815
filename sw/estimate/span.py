"""A quantity of which only a range is known."""
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """From ``low`` to ``high``; neither end is more likely than what lies between.

    Raises
    ------
    ValueError
        When ``low`` is below 0 or above ``high``.
    """

    low: float = 0.0
    high: float = 0.0

    def __post_init__(self):
        if not 0 <= self.low <= self.high:
            raise ValueError(f"a span must go from 0 or more to no less, not from {self.low} to "
                             f"{self.high}")

    def __add__(self, other: "Span") -> "Span":
        return Span(self.low + other.low, self.high + other.high)

    def __mul__(self, other: "Span | float") -> "Span":
        factor = other if isinstance(other, Span) else Span(other, other)
        return Span(self.low * factor.low, self.high * factor.high)

    @property
    def middle(self) -> float:
        """Half way."""
        return (self.low + self.high) / 2

    def as_json(self) -> list[float]:
        """Both ends."""
        return [self.low, self.high]


def total(spans: Iterable[Span]) -> Span:
    """The sum."""
    return sum(spans, Span())
