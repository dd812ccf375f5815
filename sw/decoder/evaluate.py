"""Accuracy of decoders: perplexity of text, and exact answers of the mathformers.

The machine's side is the integer reference, which equals the devices byte for byte.
"""
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from systolith.hw.config import Config
from systolith.sw.decoder.compiled import compile_decoder
from systolith.sw.decoder.quantize import quantize_decoder
from systolith.sw.decoder.samples import calibration_samples
from systolith.sw.decoder.scales import calibrate_decoder
from systolith.sw.models.accuracy import Measure
from systolith.sw.models.model import Model
from systolith.sw.reference import llama
from systolith.sw.reference.decoder import Cache, QuantizedDecoder, decode
from systolith.sw.reference.weights import Floats

#: Positions of a window of text, and windows that the table takes: 28,160 tokens.
WINDOW, WINDOWS = 128, 220

#: The sign of each mathformer, and what it answers.
ANSWERS: dict[str, tuple[str, Callable[[int, int], str]]] = {
    "add": ("+", lambda a, b: str(a + b)), "sub": ("-", lambda a, b: str(a - b)),
    "mul": ("*", lambda a, b: str(a * b)),
    "div": ("/", lambda a, b: f"Q{a // b}R{a % b}")}

#: Most tokens of an answer.
LONGEST_ANSWER = 8

#: Called with (done, all).
Ticks = Callable[[int, int], None]


def perplexity(model: Model, text: str, windows: int = WINDOWS,
               progress: Ticks | None = None, measure: str = "perplexity") -> Measure:
    """Perplexity of a text, in windows of 128 tokens that do not overlap; each predicts the next
    128 from nothing but itself."""
    # Nothing is laid out: the integers do not depend on a configuration.
    integers = quantize_decoder(model.weights,
                                calibrate_decoder(model.weights, calibration_samples(model)))
    size = min(WINDOW, model.max_length)
    # Four characters a token are more than enough text.
    ids = model.tokenize(text[:8 * size * windows])
    losses = np.zeros(2)
    for window in range(windows):
        x = ids[window * size:(window + 1) * size]
        y = np.array(ids[window * size + 1:(window + 1) * size + 1])
        ours = decode(x, integers, Cache()).logits * integers.logit_scale
        losses += _loss(llama.forward(x, model.weights), y), _loss(ours, y)
        if progress is not None:
            progress(window + 1, windows)
    count = windows * size
    exact, machine = np.exp(losses / count)
    return Measure(model.name, measure, count, float(exact), None, float(machine))


def _loss(logits: Floats, targets: np.ndarray) -> float:
    """Sum of the cross-entropies of (T, V) logits to (T,) tokens, in nats."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    chosen = shifted[np.arange(len(targets)), targets]
    return float((np.log(np.exp(shifted).sum(axis=1)) - chosen).sum())


def exact_answers(model: Model, config: Config, progress: Ticks | None = None) -> Measure:
    """Problems of single digits that a mathformer answers exactly."""
    integers = compile_decoder(model, config).model
    asked = list(problems(model.name.removeprefix("mathformer-")))
    right = np.zeros(2, dtype=int)
    for count, (problem, answer) in enumerate(asked, start=1):
        right += (float_answer(model, problem) == answer,
                  machine_answer(model, integers, problem) == answer)
        if progress is not None:
            progress(count, len(asked))
    return Measure(model.name, "exact answers", len(asked), float(right[0]), None, float(right[1]))


def problems(kind: str) -> Iterator[tuple[str, str]]:
    """(problem, answer) of all single digits; no negative differences, nothing over 0."""
    sign, result = ANSWERS[kind]
    for a in range(10):
        for b in range(10):
            if not (kind == "sub" and b > a) and not (kind == "div" and b == 0):
                yield f"{a}{sign}{b}=", result(a, b)


def machine_answer(model: Model, integers: QuantizedDecoder, problem: str) -> str:
    """What the integer reference answers."""
    cache = Cache()
    return _answer(model, problem, lambda new, _: int(decode(new, integers, cache).tokens[-1]))


def float_answer(model: Model, problem: str) -> str:
    """What the model in floating point answers."""
    return _answer(model, problem,
                   lambda _, ids: int(llama.forward(ids, model.weights)[-1].argmax()))


def _answer(model: Model, problem: str,
            step: Callable[[Sequence[int], Sequence[int]], int]) -> str:
    """The text up to the end token; ``step`` gets the new tokens and all, and gives the next."""
    ids, text = model.encode(problem), ""
    new: list[int] = ids
    for _ in range(LONGEST_ANSWER):
        token = step(new, ids)
        piece = model.decode([token])
        if piece == "</s>":
            break
        new, ids, text = [token], [*ids, token], text + piece
    return text
