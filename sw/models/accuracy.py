"""One row of the table of accuracies."""
from dataclasses import dataclass

#: The type, under a name that no field of the table hides.
Number = float


@dataclass(frozen=True)
class Measure:
    """What a model reaches in floating point, with INT8 operands and floating point between, and in
    the integers of the machine. ``int8`` is None where it has not been measured."""

    model: str
    measure: str
    samples: int
    float: Number
    int8: Number | None
    ours: Number
