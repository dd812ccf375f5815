"""``systolith eval``: accuracy on real data, in floating point, in INT8, and on the machine."""
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import Progress as Bar

from systolith.sim.text import print_table
from systolith.sw.models import MODELS, ModelError
from systolith.sw.models.encoders import ENCODERS, load_encoder

#: Called with (done, all).
Ticks = Callable[[int, int], None]


class Row(Protocol):
    """A measure of a model, three ways."""

    model: str
    measure: str
    samples: int
    float: float
    int8: float
    ours: float


def evaluate(model: str, samples: int | None, progress: Ticks) -> Sequence[Row]:
    """The measures of a model.

    Parameters
    ----------
    samples : int, optional
        Take only so many of the data, from the first on.

    Raises
    ------
    ModelError
        When the model is unknown, or its data cannot be fetched.
    """
    if model in ENCODERS:
        from systolith.sw.encoder.datasets import movie_snippets
        from systolith.sw.encoder.evaluate import evaluate as evaluate_encoder

        return evaluate_encoder(load_encoder(model), movie_snippets()[:samples], progress)
    raise ModelError(f"unknown model {model!r}; choose one of {', '.join([*MODELS, *ENCODERS])}")


@contextmanager
def bar(name: str) -> Iterator[Ticks]:
    """A progress bar on standard error."""
    with Bar(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(name, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)


def as_json(rows: Sequence[Row]) -> dict[str, object]:
    """The table under its stable keys."""
    return {"measures": [asdict(row) for row in rows]}  # type: ignore[call-overload]


def print_rows(rows: Sequence[Row]) -> None:
    """The table."""
    print_table(("model", "measure", "samples", "float", "INT8", "ours"), [
        (row.model, row.measure, f"{row.samples:,}",
         *(f"{value:.4f}" for value in (row.float, row.int8, row.ours))) for row in rows])


def check_plot() -> None:
    """Raise ModelError when there is nothing to plot with: before the work, not after it."""
    if find_spec("matplotlib") is None:
        raise ModelError("--plot needs matplotlib; run: pip install matplotlib")


def plot(rows: Sequence[Row], path: Path) -> None:
    """A picture of the table: a group of bars a measure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(rows) + 1, 3.6), layout="constrained")
    for axes, row in zip(figure.subplots(1, len(rows), squeeze=False)[0], rows, strict=True):
        values = (row.float, row.int8, row.ours)
        bars = axes.bar(("float", "INT8", "ours"), values, color=("#888888", "#4477aa", "#ee7733"))
        axes.bar_label(bars, fmt="%.4f")
        axes.set_title(f"{row.model}: {row.measure}\n{row.samples:,} samples", fontsize=9)
        axes.set_ylim(0, 1.15 * max(values))
    figure.savefig(path, dpi=150)
