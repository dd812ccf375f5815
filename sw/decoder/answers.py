"""Exact answers of the mathformers to all problems of single digits."""
from collections.abc import Callable

from systolith.sw.decoder.samples import END
from systolith.sw.decoder.ways import Step, Ways
from systolith.sw.models.accuracy import Measure, Ticks
from systolith.sw.models.model import Model

#: The sign of each mathformer, and what it answers.
ANSWERS: dict[str, tuple[str, Callable[[int, int], str]]] = {
    "add": ("+", lambda a, b: str(a + b)), "sub": ("-", lambda a, b: str(a - b)),
    "mul": ("*", lambda a, b: str(a * b)),
    "div": ("/", lambda a, b: f"Q{a // b}R{a % b}")}

#: Most tokens of an answer.
LONGEST_ANSWER = 8

MEASURE = "exact answers"


def problems(kind: str) -> list[tuple[str, str]]:
    """(problem, answer) of all single digits; no negative differences, nothing over 0."""
    sign, result = ANSWERS[kind]
    return [(f"{a}{sign}{b}=", result(a, b)) for a in range(10) for b in range(10)
            if not (kind == "sub" and b > a) and not (kind == "div" and b == 0)]


def exact_answers(model: Model, progress: Ticks | None = None) -> Measure:
    """Problems of single digits that a mathformer answers exactly, to the last token."""
    ways = Ways.of(model)
    asked = problems(model.name.removeprefix("mathformer-"))
    right = [0, 0, 0]
    for count, (problem, answer) in enumerate(asked, start=1):
        for way, step in enumerate(ways.steps()):
            right[way] += answer_of(model, step, problem) == answer
        if progress is not None:
            progress(count, len(asked))
    return Measure(model.name, MEASURE, len(asked), *map(float, right))


def answer_of(model: Model, step: Step, problem: str) -> str:
    """The text up to the end token."""
    new, text = model.encode(problem), ""
    for _ in range(LONGEST_ANSWER):
        new = [step(new)]
        piece = model.decode(new)
        if piece == END:
            break
        text += piece
    return text


def summed(measures: list[Measure]) -> Measure:
    """The sum over all mathformers."""
    return Measure("mathformer", MEASURE, sum(each.samples for each in measures),
                   sum(each.float for each in measures), sum(each.int8 for each in measures),
                   sum(each.ours for each in measures))
