"""``systolith eval``: accuracy on real data, in floating point, in INT8, and on the machine."""
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.progress import Progress as Bar

from systolith.hw.configs import get_config
from systolith.sim.text import print_table
from systolith.sw.models import MODELS, ModelError, load_model
from systolith.sw.models.accuracy import Measure
from systolith.sw.models.datasets import movie_snippets, news, shakespeare
from systolith.sw.models.encoders import ENCODERS, load_encoder

#: Configuration that the integers are for; they do not depend on it.
CONFIG = "sim16"

#: Windows of 128 tokens of each text for SmolLM2, at about 0.08 seconds a token.
SMOLLM2_WINDOWS = 12

COLORS = {"float": "#888888", "INT8": "#4477aa", "ours": "#ee7733"}

#: Called with (done, all).
Ticks = Callable[[int, int], None]


def evaluate(model: str, samples: int | None, progress: Ticks) -> Sequence[Measure]:
    """The measures of a model.

    Parameters
    ----------
    samples : int, optional
        Take only so many of the data (texts, tokens), from the first on; the mathformers always
        answer all.

    Raises
    ------
    ModelError
        When the model is unknown, or its data cannot be fetched.
    """
    if model in ENCODERS:
        from systolith.sw.encoder.evaluate import evaluate as evaluate_encoder

        return evaluate_encoder(load_encoder(model), movie_snippets()[:samples], progress)
    if model.startswith("mathformer-") and model in MODELS:
        from systolith.sw.decoder.evaluate import exact_answers

        return [exact_answers(load_model(model), get_config(CONFIG), progress)]
    if model == "glassllm":
        from systolith.sw.decoder.evaluate import WINDOW, WINDOWS, perplexity

        windows = WINDOWS if samples is None else -(-samples // WINDOW)
        return [perplexity(load_model(model), shakespeare(), windows, progress)]
    if model == "smollm2":
        from systolith.sw.decoder.evaluate import WINDOW, perplexity

        windows = SMOLLM2_WINDOWS if samples is None else -(-samples // WINDOW)
        loaded, texts = load_model(model), {"plays": shakespeare(), "news": "\n".join(news())}
        return [perplexity(loaded, text, windows, progress, f"perplexity of {name}")
                for name, text in texts.items()]
    if model in MODELS:
        raise ModelError(f"there is no data to evaluate {model} on")
    raise ModelError(f"unknown model {model!r}; choose one of {', '.join([*MODELS, *ENCODERS])}")


@contextmanager
def bar(name: str) -> Iterator[Ticks]:
    """A progress bar on standard error."""
    with Bar(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(name, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)


def as_json(rows: Sequence[Measure]) -> dict[str, object]:
    """The table under its stable keys."""
    return {"measures": [asdict(row) for row in rows]}


def print_rows(rows: Sequence[Measure]) -> None:
    """The table."""
    print_table(("model", "measure", "samples", "float", "INT8", "ours"), [
        (row.model, row.measure, f"{row.samples:,}",
         *("-" if value is None else f"{value:.4f}" for value in (row.float, row.int8, row.ours)))
        for row in rows])


def check_plot(option: str = "--plot") -> None:
    """Raise ModelError when there is nothing to plot with: before the work, not after it."""
    if find_spec("matplotlib") is None:
        raise ModelError(f"{option} needs matplotlib; run: pip install matplotlib")


def plot(rows: Sequence[Measure], path: Path) -> None:
    """A picture of the table: a group of bars a measure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(rows) + 1, 3.6), layout="constrained")
    for axes, row in zip(figure.subplots(1, len(rows), squeeze=False)[0], rows, strict=True):
        bars_of = {"float": row.float, "INT8": row.int8, "ours": row.ours}
        values = {name: value for name, value in bars_of.items() if value is not None}
        bars = axes.bar(list(values), list(values.values()), color=[COLORS[n] for n in values])
        axes.bar_label(bars, fmt="%.4f")
        axes.set_title(f"{row.model}: {row.measure}\n{row.samples:,} samples", fontsize=9)
        axes.set_ylim(0, 1.15 * max(values.values()))
    figure.savefig(path, dpi=150)
