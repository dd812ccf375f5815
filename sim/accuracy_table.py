"""The table of accuracies on the page of results: rows of ``systolith eval``, and what is asked.

Some rows take an hour, so each model's are renewed alone and the others stay.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from systolith.sim.results_page import cells, old_section, section
from systolith.sw.decoder.greedy import WRITTEN, measure_of
from systolith.sw.models.accuracy import Measure

TITLE = "Accuracy of whole models"

HEAD = ("model", "measure", "samples", "float", "INT8", "ours", "asked of ours")

#: In the order of their rows.
MODELS = ("mathformer", "glassllm", "minilm", "smollm2")

_TEXT = (
    "Rows come from " + ", ".join(f"`systolith eval {model} --write`" for model in MODELS)
    + ". [accuracy](accuracy.md) tells what is measured, and what the three columns are.")


@dataclass(frozen=True)
class Goal:
    """What is asked of a measure."""

    text: str
    met: Callable[[Measure], bool]


def _near(measure: Measure) -> bool:
    return measure.ours <= 1.03 * measure.float


#: By model and measure.
GOALS = {
    ("mathformer", "exact answers"): Goal("at least 341", lambda each: each.ours >= 341),
    ("glassllm", "perplexity"): Goal("at most 134.0", lambda each: each.ours <= 134.0),
    ("glassllm", measure_of(WRITTEN)): Goal("at least 58", lambda each: each.ours >= 58),
    ("minilm", "mean cosine to float"): Goal("at least 0.997", lambda each: each.ours >= 0.997),
    ("minilm", "probe accuracy"): Goal(
        "within 0.005", lambda each: abs(each.ours - each.float) <= 0.005),
    ("smollm2", "perplexity of plays"): Goal("within 3 %", _near),
    ("smollm2", "perplexity of news"): Goal("within 3 %", _near),
}


def rows_of(value: object) -> list[Measure]:
    """The rows that ``systolith eval --json`` wrote.

    Raises
    ------
    ValueError
        When ``value`` is something else.
    """
    names = {field.name for field in fields(Measure)}
    if not (isinstance(value, list)
            and all(isinstance(row, dict) and set(row) == names for row in value)):
        raise ValueError("the file has no rows of `systolith eval --json`: a list of objects with "
                         + ", ".join(sorted(names)))
    return [Measure(**row) for row in value]


def accuracy_section(measures: Sequence[Measure], page: Path) -> str:
    """The section with the new rows, and those of the page that no new row replaces."""
    rows = {tuple(row[:2]): row for row in cells(old_section(TITLE, page) or "")}
    rows |= {(each.model, each.measure): _row(each) for each in measures}
    return section(TITLE, _TEXT, HEAD, sorted(rows.values(), key=_place))


def _place(row: Sequence[str]) -> int:
    """Models in their order, unknown ones last; rows of a model stay as they come."""
    family = row[0].partition("-")[0]
    return MODELS.index(family) if family in MODELS else len(MODELS)


def _row(measure: Measure) -> list[str]:
    goal = GOALS.get((measure.model, measure.measure))
    asked = "" if goal is None else f"{goal.text}: {'yes' if goal.met(measure) else 'NO'}"
    return [measure.model, measure.measure, f"{measure.samples:,}", *numbers(measure), asked]


def numbers(measure: Measure) -> list[str]:
    """The three columns as text: counts whole, shares of one with four decimals, others with two.
    """
    values = (measure.float, measure.int8, measure.ours)
    if max(values) <= 1:
        return [f"{value:.4f}" for value in values]
    whole = all(value.is_integer() for value in values)
    return [f"{value:.0f}" if whole else f"{value:.2f}" for value in values]
