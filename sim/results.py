"""Renews the tables of ``docs/results.md``: ``make results``.

What stands between the two markers of that page is replaced by figures of seeded runs on the RTL.
"""
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from systolith.hw.configs import SIMULATED, get_config
from systolith.sim.attention import prepare_layer
from systolith.sim.commands.bench import BENCHMARKS, bench
from systolith.sim.devices import open_device
from systolith.sim.measure import Measure
from systolith.sim.progress import Progress
from systolith.sw.compiler.quantize import scale_word_of
from systolith.sw.decoder import Session, compile_decoder
from systolith.sw.decoder.evaluate import exact_answers, perplexity
from systolith.sw.models import MODELS, load_model
from systolith.sw.models.datasets import shakespeare
from systolith.sw.reference.softmax import LOG2_UNITS, softmax

PAGE = Path("docs/results.md")
BEGIN, END = "<!-- begin of generated tables -->\n", "<!-- end of generated tables -->\n"

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


def _section(title: str, text: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"## {title}\n\n{text}\n\n{table}\n"


def _softmax_table() -> str:
    rows = ((str(length), f"{mean * 1e3:.2f}e-3", f"{worst * 1e3:.2f}e-3",
             f"{100 * product:.2f} %")
            for length in LENGTHS for mean, worst, product in [softmax_errors(length)])
    text = ("Gaussian logits of standard deviation 2, 1,000 rows; the product is that with a "
            "Gaussian V, error norm over exact norm.")
    return _section("Softmax against float64", text,
                    ("row length", "mean error", "worst error", "error of P V"), rows)


def _bench_table(progress: Progress) -> str:
    outcomes = bench(list(BENCHMARKS), config="sim16", device="rtl", progress=progress)
    rows = []
    for outcome in outcomes:
        measure, matrix = outcome.measure, outcome.measure.engines()["matrix"]
        rows.append((outcome.name, "yes" if outcome.bit_exact else "NO", f"{measure.cycles:,}",
                     f"{measure.macs:,}", _percent(measure.utilization),
                     _percent((matrix["busy"] or 0) / (measure.cycles or 1))))
    text = ("On `sim16`, peak 256 multiply-accumulates a cycle. Products have resident operands; "
            "attention (glassllm layer 0) includes loading weights and storing the result. Useful "
            "work: no padding, no masked scores.")
    return _section("Use of the array (`systolith bench`)", text,
                    ("work", "bit exact", "cycles", "useful MACs", "of peak", "array busy"), rows)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _layer_table(progress: Progress) -> str:
    rows = []
    for name in SIMULATED:
        with open_device("rtl", get_config(name), progress=progress) as device:
            rows += [_layer_row(model, layer, device)
                     for model in MODELS for layer in range(load_model(model).layers)]
    text = ("Default prompt, which does not take part in the calibration. The error is that of the "
            "layer's output against float64; the share is of the output's RMS.")
    return _section("Attention layers of pretrained models on the RTL", text,
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
            _percent(measure.utilization), f"{result.mean_abs_error:.5f}",
            f"{result.max_abs_error:.5f}", _percent(result.mean_abs_error / rms))


def _accuracy_table(progress: Progress) -> str:
    with progress.stage("accuracy"):
        config = get_config("sim16")
        measures = [exact_answers(load_model(name), config) for name in MODELS
                    if name.startswith("mathformer")]
        measures.append(perplexity(load_model("glassllm"), shakespeare(), config))
    rows = ((each.model, each.measure, f"{each.samples:,}", f"{each.float:.2f}", f"{each.ours:.2f}")
            for each in measures)
    text = ("`systolith eval MODEL`. Greedy answers of the mathformers to all problems of single "
            "digits; perplexity of Tiny Shakespeare in windows of 128 tokens. The machine's side "
            "is the integer reference, which equals the devices byte for byte.")
    return _section("Accuracy of whole decoders", text,
                    ("model", "measure", "samples", "float", "ours"), rows)


def _decoder_table(progress: Progress) -> str:
    config, model = get_config("sim16"), load_model("glassllm")
    compiled = compile_decoder(model, config)
    ids = (model.encode(model.default_prompt) * 4)[:100]
    rows = []
    with open_device("rtl", config, progress=progress) as device:
        session = Session(compiled, device)
        for name, result in (("prefill of 100 tokens", session.prefill(ids)),
                             ("one token at context 100", session.step(ids[0]))):
            measure = Measure(config, result.macs, result.counters)
            vector = measure.engines()["vector"]
            rows.append((name, f"{measure.cycles:,}", f"{measure.macs:,}",
                         _percent(measure.utilization),
                         _percent((vector["busy"] or 0) / (measure.cycles or 1))))
    text = ("The whole model on `sim16`, from embedding to the choice of the token, weights "
            "resident.")
    return _section("Whole glassllm on the RTL", text,
                    ("work", "cycles", "useful MACs", "of peak", "vector unit busy"), rows)


def main() -> None:
    """Measure everything and renew the page."""
    progress = Progress()
    tables = [_softmax_table(), _bench_table(progress), _decoder_table(progress),
              _accuracy_table(progress), _layer_table(progress)]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(tables) + "\n" + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
