"""Which of several equal forms of a narrow decoder is quantized, by its error on the samples."""
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from systolith.sw.decoder.balance import balanced
from systolith.sw.decoder.quantize import quantize_decoder
from systolith.sw.decoder.scales import calibrate_decoder
from systolith.sw.decoder.widen import widened
from systolith.sw.reference import llama
from systolith.sw.reference.decoder import Cache, QuantizedDecoder, decode
from systolith.sw.reference.weights import Floats, LlamaWeights

#: The widest decoder of which other forms are tried. In wider ones each sum has enough terms for
#: rounding errors to average out, and wider forms would cost time.
NARROW = 16

#: An error that needs no other form, as a part of the median distance between the largest and the
#: second logit.
SMALL_ERROR = 0.1

#: Copies that are tried one after the other until the error is small, and seeds of each.
COPIES, SEEDS = (2, 4), 6

#: Most samples that measure a form: every second, third ... where there are more.
MEASURED = 32


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A form that was tried: ``copies`` of the width with the random matrices of ``seed`` (None:
    as it is); ``error``: root mean square of the logits' errors on the samples, as a part of the
    median distance between the largest and the second logit; ``taken``."""

    copies: int
    seed: int | None
    error: float
    taken: bool

    def as_json(self) -> dict[str, object]:
        """The line under its stable keys."""
        return asdict(self)


@dataclass(frozen=True)
class _Form:
    copies: int
    seed: int | None
    error: float
    integers: QuantizedDecoder


def choose(weights: LlamaWeights, samples: Sequence[Sequence[int]],
           percentile: float = 100.0) -> tuple[QuantizedDecoder, tuple[Choice, ...]]:
    """The integer decoder of the form with the smallest error, and what was tried.

    Decoders wider than :data:`NARROW` are taken as they are, and nothing is tried.

    Parameters
    ----------
    weights : LlamaWeights
    samples : sequence of token ids
    percentile : float
        Part of the magnitudes, in percent, that must fit INT8.

    Raises
    ------
    CompileError
        As :func:`calibrate_decoder` and :func:`quantize_decoder`.
    """
    integers = quantize_decoder(weights, calibrate_decoder(weights, samples, percentile))
    if len(weights.norm) > NARROW:
        return integers, ()
    truth = _Truth(weights, samples[::-(-len(samples) // MEASURED)])
    forms = [_Form(1, None, truth.error(integers), integers)]
    for copies in COPIES:
        if min(form.error for form in forms) <= SMALL_ERROR:
            break
        forms += _forms(weights, samples, percentile, copies, truth)
    best = min(forms, key=lambda form: form.error)
    return best.integers, tuple(
        Choice(copies=form.copies, seed=form.seed, error=form.error, taken=form is best)
        for form in forms)


def _forms(weights: LlamaWeights, samples: Sequence[Sequence[int]], percentile: float,
           copies: int, truth: "_Truth") -> Iterator[_Form]:
    for seed in range(SEEDS):
        form = balanced(widened(weights, copies, seed), samples)
        integers = quantize_decoder(form, calibrate_decoder(form, samples, percentile))
        yield _Form(copies, seed, truth.error(integers), integers)


class _Truth:
    """Logits in floating point, at the positions whose next token the float model chooses itself:
    in what it wrote, not in what it was given."""

    def __init__(self, weights: LlamaWeights, samples: Sequence[Sequence[int]]):
        self.samples = samples
        self.logits = [llama.forward(ids, weights) for ids in samples]  # each (T, V)
        self.rows = [np.append(logits[:-1].argmax(axis=1) == np.array(ids[1:], int), True)
                     for ids, logits in zip(samples, self.logits, strict=True)]
        top = np.sort(np.concatenate(self._own(self.logits)), axis=1)
        self.margin = float(np.median(top[:, -1] - top[:, -2])) or 1.0

    def _own(self, logits: Sequence[Floats]) -> list[Floats]:
        return [each[rows] for each, rows in zip(logits, self.rows, strict=True)]

    def error(self, integers: QuantizedDecoder) -> float:
        """Root mean square of the errors, as a part of the median margin."""
        ours = [decode(ids, integers, Cache()).logits * integers.logit_scale
                for ids in self.samples]
        errors = np.concatenate(self._own(ours)) - np.concatenate(self._own(self.logits))
        return float(np.sqrt(np.mean(errors ** 2))) / self.margin
