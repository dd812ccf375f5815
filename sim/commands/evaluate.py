"""``systolith eval``: accuracy on real data, in floating point, in INT8, and on the machine."""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.progress import Progress as Bar

from systolith.sim.accuracy_table import numbers
from systolith.sim.text import print_table
from systolith.sw.models import MODELS, ModelError, load_model
from systolith.sw.models.accuracy import Measure, Ticks
from systolith.sw.models.datasets import movie_snippets, news, shakespeare
from systolith.sw.models.encoders import ENCODERS, load_encoder

#: Tokens of a window of text, and windows that are taken: 28,160 tokens of plays for glassllm,
#: 1,024 of each text for SmolLM2, at about 0.15 seconds a token.
GLASSLLM_WINDOWS, SMOLLM2_WINDOWS = (128, 220), (256, 4)

#: All mathformers in one table.
MATHFORMER = "mathformer"

#: What takes long, on one core of x86-64.
EXPECTED = {"minilm": "25 minutes for all texts", "glassllm": "2 minutes",
            "smollm2": "5 minutes for the usual tokens"}

COLORS = {"float": "#888888", "INT8": "#4477aa", "ours": "#ee7733"}


def evaluate(model: str, samples: int | None, progress: Ticks) -> Sequence[Measure]:
    """The measures of a model.

    Parameters
    ----------
    samples : int, optional
        Take so many of the data (texts, tokens of each text), from the first on, instead of the
        usual number. Tokens are rounded up to whole windows.

    Raises
    ------
    ModelError
        When the model is unknown, its data cannot be fetched, or there are not so many samples.
    """
    if model in ENCODERS:
        from systolith.sw.encoder.evaluate import evaluate as evaluate_encoder

        return evaluate_encoder(load_encoder(model), movie_snippets()[:samples], progress)
    if model == MATHFORMER or (model.startswith(f"{MATHFORMER}-") and model in MODELS):
        if samples is not None:
            raise ModelError(f"{model} always answers all problems; leave out --samples")
        return _answers(model, progress)
    if model == "glassllm":
        return _glassllm(samples, progress)
    if model == "smollm2":
        return _smollm2(samples, progress)
    if model in MODELS:
        raise ModelError(f"there is no data to evaluate {model} on")
    raise ModelError(f"unknown model {model!r}; choose one of "
                     + ", ".join([*MODELS, MATHFORMER, *ENCODERS]))


def _answers(model: str, progress: Ticks) -> list[Measure]:
    from systolith.sw.decoder.answers import ANSWERS, exact_answers, problems, summed

    if model != MATHFORMER:
        return [exact_answers(load_model(model), progress)]
    whole = sum(len(problems(kind)) for kind in ANSWERS)
    measures: list[Measure] = []
    for kind in ANSWERS:
        before = sum(each.samples for each in measures)
        measures.append(exact_answers(load_model(f"{MATHFORMER}-{kind}"),
                                      _after(before, whole, progress)))
    return [*measures, summed(measures)]


def _glassllm(samples: int | None, progress: Ticks) -> list[Measure]:
    from systolith.sw.decoder.evaluate import perplexity
    from systolith.sw.decoder.greedy import PROMPTS, greedy_texts, prompts_of
    from systolith.sw.decoder.ways import Ways

    model, plays = load_model("glassllm"), shakespeare()
    sentences = [sentence for text in news() for sentence in text.split(". ")]
    prompts = prompts_of(model, (plays.splitlines(), sentences),
                         PROMPTS if samples is None else min(samples, PROMPTS))
    window, windows = _windows(GLASSLLM_WINDOWS, samples)
    ways, whole = Ways.of(model), windows + len(prompts)
    return [perplexity(model, ways, plays, window=window, windows=windows,
                       progress=_after(0, whole, progress)),
            *greedy_texts(model, ways, prompts, _after(windows, whole, progress))]


def _smollm2(samples: int | None, progress: Ticks) -> list[Measure]:
    from systolith.sw.decoder.evaluate import perplexity
    from systolith.sw.decoder.ways import Ways

    model = load_model("smollm2")
    # Its calibration texts are none of these.
    texts = {"plays": shakespeare(), "news": "\n".join(news())}
    window, windows = _windows(SMOLLM2_WINDOWS, samples)
    ways = Ways.of(model)
    return [perplexity(model, ways, text, window=window, windows=windows,
                       progress=_after(place * windows, len(texts) * windows, progress),
                       measure=f"perplexity of {name}")
            for place, (name, text) in enumerate(texts.items())]


def _windows(usual: tuple[int, int], samples: int | None) -> tuple[int, int]:
    """(tokens of a window, windows) for so many tokens or a few more."""
    window, windows = usual
    return window, windows if samples is None else -(-samples // window)


def _after(before: int, whole: int, progress: Ticks) -> Ticks:
    """The progress of a part of ``whole`` steps, ``before`` of which are done."""
    return lambda done, _: progress(before + done, whole)


@contextmanager
def bar(name: str) -> Iterator[Ticks]:
    """A progress bar on standard error, after a line that tells how long it takes."""
    console = Console(stderr=True)
    if name in EXPECTED:
        console.print(f"Evaluating {name} takes about {EXPECTED[name]} on one core.",
                      highlight=False)
    with Bar(console=console, transient=True) as shown:
        task = shown.add_task(name, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)


def as_json(rows: Sequence[Measure]) -> list[dict[str, object]]:
    """The rows of the table under their stable keys."""
    return [asdict(row) for row in rows]


def print_rows(rows: Sequence[Measure]) -> None:
    """The table."""
    print_table(("model", "measure", "samples", "float", "INT8", "ours"), [
        (row.model, row.measure, f"{row.samples:,}",
         *numbers(row))
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
        values = {"float": row.float, "INT8": row.int8, "ours": row.ours}
        bars = axes.bar(list(values), list(values.values()), color=[COLORS[n] for n in values])
        axes.bar_label(bars, labels=numbers(row))
        axes.set_title(f"{row.model}: {row.measure}\n{row.samples:,} samples", fontsize=9)
        axes.set_ylim(0, 1.15 * max(values.values()))
    figure.savefig(path, dpi=150)
