"""Renews the tables of ``docs/results.md``: ``make results``.

What stands between the two markers of that page is replaced by figures of seeded runs on the RTL
and of evaluations. ``python -m systolith.sim.results --help`` tells how one section is renewed.
"""
import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from systolith.hw.configs import get_config
from systolith.sim.accuracy_table import accuracy_section, rows_of
from systolith.sim.attention import prepare_layer
from systolith.sim.benchmarks import BENCHMARKS
from systolith.sim.benchmarks.models import first_layers
from systolith.sim.cli.options import RESULTS
from systolith.sim.commands.bench import Outcome, bench
from systolith.sim.commands.evaluate import evaluate
from systolith.sim.devices import open_device
from systolith.sim.measure import Measure
from systolith.sim.progress import Progress
from systolith.sim.results_page import percent, renew, section
from systolith.sim.shares import SHARES
from systolith.sim.whole_model import COMMAND, run_smollm2, whole_model_section
from systolith.sim.whole_model import TITLE as WHOLE_MODEL
from systolith.sw.compiler.fusion import Fusion, count_fusion
from systolith.sw.compiler.quantize import scale_word_of
from systolith.sw.decoder import compile_decoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.encoder import compile_encoder, quantized_encoder
from systolith.sw.models import INCLUDED, load_model
from systolith.sw.models.encoders import load_encoder
from systolith.sw.reference.softmax import LOG2_UNITS, softmax

#: Row lengths of the softmax table.
LENGTHS = (64, 128, 256, 1024)

#: What one unit of the INT32 scores stands for: fine beside the logits' deviation of 2, as the
#: scores of INT8 queries and keys are.
SCORE_UNIT = 1 / 512


def softmax_errors(length: int, rows: int = 1000) -> tuple[float, float, float]:
    """Softmax against float64 on Gaussian logits of standard deviation 2, seeded by ``length``.

    Returns
    -------
    mean, worst : float
        Absolute error of the probabilities.
    product : float
        Error of ``P @ V`` for a Gaussian ``V`` (length, 64), norm relative to the exact one's.
    """
    rng = np.random.default_rng(length)
    logits = rng.normal(0, 2, (rows, length))
    exact = np.exp(logits - logits.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    scores = np.rint(logits / SCORE_UNIT).astype(np.int64)
    p, total = softmax(scores, scale_word_of(SCORE_UNIT * LOG2_UNITS),
                       np.ones(scores.shape, dtype=bool))
    error = p * 128 / total[:, None] - exact
    values = rng.normal(size=(length, 64))
    product = np.linalg.norm(error @ values) / np.linalg.norm(exact @ values)
    return float(np.abs(error).mean()), float(np.abs(error).max()), float(product)


def _softmax_table() -> str:
    rows = ((str(length), f"{mean * 1e3:.2f}e-3", f"{worst * 1e3:.2f}e-3",
             f"{100 * product:.2f} %")
            for length in LENGTHS for mean, worst, product in [softmax_errors(length)])
    text = ("Gaussian logits of standard deviation 2, 1,000 rows; the product is that with a "
            "Gaussian V, error norm over exact norm.")
    return section("Softmax against float64", text,
                   ("row length", "mean error", "worst error", "error of P V"), rows)


#: Titles of the benchmark tables, the groups in each, and what they are.
_BENCH_TABLES = (
    ("Matrix products", ("product", "ragged", "minilm", "glassllm", "smollm2"),
     "Operands come from external memory and the INT16 result goes there; `resident`: both "
     "operands are in the core and the INT8 result stays, as far as they fit."),
    ("Pruned weights", ("pruned",),
     "The share of weight tiles that are zero is in the name; useful work has none of them."),
    ("Attention alone", ("attention",),
     "Scores, softmax and mixed values of two or four heads; queries, keys, values in the core."),
    ("Layers and models", ("layer", "model"),
     "With all moves; weights of glassllm's layers stay in the core, those of MiniLM and of "
     "SmolLM2's layer stream, unless it is `resident`: there the configuration is `deep16`, with "
     "4 MiB of weights."),
)

_BENCH_TEXT = ("`systolith bench` on the RTL, peak 256 multiply-accumulates a cycle; every result "
               "is compared bit by bit. `model`: cycles of the cycle model. What was lost adds up "
               "with the useful work to 100 %; [performance](performance.md) tells the causes.")


def bench_tables(outcomes: Sequence[Outcome]) -> list[str]:
    """Sections of the page with what benchmarks gave."""
    groups = [(title, text, [each for each in outcomes if each.name.partition("-")[0] in names])
              for title, names, text in _BENCH_TABLES]
    return [_bench_table(title, text, chosen) for title, text, chosen in groups if chosen]


def _bench_table(title: str, text: str, outcomes: Sequence[Outcome]) -> str:
    causes = [cause for cause in SHARES if any(each.lost and each.lost[cause] for each in outcomes)]
    rows = []
    for outcome in outcomes:
        measure, lost = outcome.measure, outcome.lost or {}
        rows.append((outcome.name, "yes" if outcome.bit_exact else "NO", f"{measure.cycles:,}",
                     f"{outcome.model_cycles:,}",
                     percent(measure.utilization), measure.limit,
                     percent(measure.share_of_limit),
                     *(f"{lost[cause]:.1f}" if lost.get(cause) else "" for cause in causes)))
    head = ("work", "bit exact", "cycles", "model", "of peak", "limit", "of limit",
            *(f"{cause} %" for cause in causes))
    return section(title, f"{_BENCH_TEXT} {text}", head, rows)


def _layer_table(progress: Progress) -> str:
    rows = []
    for name in ("tiny", "tall", "sim16"):
        with open_device("rtl", get_config(name), progress=progress) as device:
            rows += [_layer_row(model, layer, device)
                     for model in INCLUDED for layer in range(load_model(model).layers)]
    text = ("Default prompt, which does not take part in the calibration. The error is that of the "
            "layer's output against float64; the share is of the output's RMS.")
    return section("Attention layers of pretrained models on the RTL", text,
                   ("model", "layer", "configuration", "tokens", "bit exact", "cycles", "of peak",
                    "mean error", "largest error", "mean error of RMS"), rows)


def _layer_row(name: str, index: int, device) -> tuple[str, ...]:
    model = load_model(name)
    layer = prepare_layer(model, index, model.encode(model.default_prompt), device.config)
    result = layer.compiled.run(device, layer.x, layer.h)
    measure = Measure(device.config, layer.compiled.macs, result.counters)
    rms = float(np.sqrt(np.mean((result.expected * layer.compiled.layer.x_scale) ** 2)))
    return (name, str(index), device.config.name, str(len(layer.x)),
            "yes" if result.bit_exact else "NO", f"{measure.cycles:,}",
            percent(measure.utilization), f"{result.mean_abs_error:.5f}",
            f"{result.max_abs_error:.5f}", percent(result.mean_abs_error / rms))


def _fusion_table(progress: Progress) -> str:
    with progress.stage("fusion"):
        layers = [("MiniLM, length 128", _encoder_layer(128))]
        layers += [(f"glassllm, {what}", _decoder_layer(shape)) for what, shape in (
            ("prefill of 100 tokens", Shape(100, 0, False)),
            ("one token at context 100", Shape(1, 100, False)))]
    rows = ((name, f"{each.plain_commands:,}", f"{each.commands:,}", percent(each.saved),
             f"{each.plain_passes:,}", f"{each.passes:,}", percent(each.saved_passes),
             f"{each.plain_beats:,}", f"{each.beats:,}") for name, each in layers)
    text = ("One layer on `sim16`. Before: a pass for each addition of a bias, scale, function, "
            "rotation, residual and reduction. After: as the compiler emits them. Commands are "
            "those of all engines, beats those of the vector unit.")
    return section("Commands and passes before and after fusion", text,
                   ("layer", "commands before", "after", "saved", "passes before", "after",
                    "saved", "beats before", "after"), rows)


def _decoder_layer(shape: Shape) -> Fusion:
    """What the second layer of glassllm adds to a run."""
    model, config = load_model("glassllm"), get_config("sim16")
    one, two = (compile_decoder(first_layers(model, layers), config).run(shape).program
                for layers in (1, 2))
    return count_fusion(two.all_commands()) - count_fusion(one.all_commands())


def _encoder_layer(length: int) -> Fusion:
    """What the second layer of MiniLM adds to a run."""
    config, encoder = get_config("sim16"), load_encoder("minilm")
    one, two = (compile_encoder(quantized_encoder(first_layers(encoder, layers)), config,
                                length=length).program for layers in (1, 2))
    return count_fusion(two.all_commands()) - count_fusion(one.all_commands())


def _accuracy_table(progress: Progress) -> str:
    """The rows of the models that take minutes; the others' stay."""
    with progress.stage("accuracy"):
        measures = [measure for model in ("mathformer", "glassllm")
                    for measure in evaluate(model, None, lambda done, of: None)]
    return accuracy_section(measures, Path(RESULTS))


def _bench_tables(progress: Progress) -> list[str]:
    outcomes = list(bench(BENCHMARKS.values(), config="sim16", device="rtl", progress=progress))
    return bench_tables(outcomes)


#: What can be renewed alone, by name; ``smollm2`` only so.
SECTIONS: dict[str, Callable[[Progress], list[str]]] = {
    "softmax": lambda progress: [_softmax_table()],
    "bench": _bench_tables,
    "fusion": lambda progress: [_fusion_table(progress)],
    "accuracy": lambda progress: [_accuracy_table(progress)],
    "layers": lambda progress: [_layer_table(progress)],
    "smollm2": lambda progress: [whole_model_section(run_smollm2(progress))],
}

#: Renewed when no name is given; the page keeps the long rest.
USUAL = tuple(name for name in SECTIONS if name != "smollm2")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m systolith.sim.results", description=f"Renew the tables of {RESULTS}.",
        epilog="Example: python -m systolith.sim.results accuracy --rows minilm.json")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"sections to renew: {', '.join(SECTIONS)}; without names and files "
                        "all but smollm2, which is kept")
    parser.add_argument("--rows", nargs="+", default=[], type=Path, metavar="FILE",
                        help="put in the rows that `systolith eval MODEL --json FILE` wrote")
    parser.add_argument("--run", type=Path, metavar="FILE",
                        help=f"put in what `{COMMAND}` wrote")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in SECTIONS:
            parser.error(f"unknown section {name!r}; choose of {', '.join(SECTIONS)}")
    if not Path(RESULTS).is_file():
        parser.error(f"{RESULTS} is not here; run this in the project's folder")
    return arguments


def main() -> None:
    """Measure everything, or what is asked for, and renew the page."""
    arguments = _arguments()
    try:
        _renew(arguments, Path(RESULTS), Progress())
    except (OSError, ValueError) as error:
        # A file of another kind, or a model that cannot be had.
        sys.exit(f"systolith.sim.results: {error}")


def _renew(arguments: argparse.Namespace, page: Path, progress: Progress) -> None:
    if not arguments.names and not arguments.rows and not arguments.run:
        made = [part for name in USUAL for part in SECTIONS[name](progress)]
        renew(made, page, keep=(WHOLE_MODEL,))
    for name in arguments.names:
        renew(SECTIONS[name](progress), page)
    for file in arguments.rows:
        renew([accuracy_section(rows_of(json.loads(file.read_text())), page)], page)
    if arguments.run:
        renew([whole_model_section(json.loads(arguments.run.read_text()))], page)


if __name__ == "__main__":
    main()
