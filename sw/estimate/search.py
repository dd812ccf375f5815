"""The fastest of several ways to compile the same work."""
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Candidate = TypeVar("Candidate")
Compiled = TypeVar("Compiled")


@dataclass(frozen=True)
class Choice(Generic[Candidate, Compiled]):
    """A candidate, what was compiled from it, and what that costs."""

    candidate: Candidate
    compiled: Compiled
    cycles: int


def search(candidates: Iterable[Candidate], compile: Callable[[Candidate], Compiled],
           cycles: Callable[[Compiled], int], *,
           refused: type[Exception],
           best: Choice[Candidate, Compiled] | None = None) -> Choice[Candidate, Compiled]:
    """The candidate that takes the fewest cycles; of equal ones the first.

    Parameters
    ----------
    candidates : iterable
        The first is the one to fall back on: when it cannot be compiled, its exception goes on.
    compile : function of a candidate
    cycles : function of what was compiled
    refused : exception type
        What ``compile`` raises for a candidate that does not fit; others than the first are then
        left out.
    best : Choice, optional
        What is known already; it comes before the first candidate.
    """
    for candidate in candidates:
        try:
            compiled = compile(candidate)
        except refused:
            if best is None:
                raise
            continue
        cost = cycles(compiled)
        if best is None or cost < best.cycles:
            best = Choice(candidate, compiled, cost)
    if best is None:
        raise ValueError("there must be at least one candidate")
    return best


def refine(start: Any, alternatives: Mapping[str, Sequence[object]],
           compile: Callable[[Any], Compiled], cycles: Callable[[Compiled], int], *,
           refused: type[Exception]) -> Choice[Any, Compiled]:
    """Search a dataclass field by field, each from the best found so far: far fewer candidates than
    all combinations, and a better result or the same as that of ``start``.

    Parameters
    ----------
    start : dataclass instance
    alternatives : mapping of field to values
        What to try instead of the value at the start, field after field.
    compile, cycles, refused
        As of :func:`search`.
    """
    best = search([start], compile, cycles, refused=refused)
    for field, values in alternatives.items():
        others = [dataclasses.replace(best.candidate, **{field: value}) for value in values]
        best = search(others, compile, cycles, refused=refused, best=best)
    return best
