"""One row of the table of accuracies."""
from collections.abc import Callable
from dataclasses import dataclass

#: The type, under a name that no field of the table hides.
Number = float

#: Called with (done, all) of what an evaluation goes through.
Ticks = Callable[[int, int], None]


@dataclass(frozen=True)
class Measure:
    """What a model reaches in floating point, with INT8 operands and floating point between, and in
    the integers of the machine."""

    model: str
    measure: str
    samples: int
    float: Number
    int8: Number
    ours: Number
