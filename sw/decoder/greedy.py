"""How many texts the machine goes on with as floating point does, token by token."""
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from systolith.sw.decoder.ways import Step, Ways
from systolith.sw.models.accuracy import Measure, Ticks
from systolith.sw.models.model import Model

#: Prompts, the fewest and the most tokens of each, and tokens that are written after it.
PROMPTS, SHORTEST, LONGEST, WRITTEN = 60, 8, 20, 20

#: Tokens of the texts that are compared. Once one token differs, so does all that follows, so the
#: longer the texts, the fewer are identical.
LENGTHS = (1, WRITTEN)


def greedy_texts(model: Model, ways: Ways, prompts: Sequence[Sequence[int]],
                 progress: Ticks | None = None) -> list[Measure]:
    """Prompts after which the most probable tokens are all those of floating point, for each of
    :data:`LENGTHS`.

    Parameters
    ----------
    prompts : sequence of token ids
    progress : function of (prompts done, prompts), optional
    """
    same = np.zeros((len(LENGTHS), 3))
    for count, prompt in enumerate(prompts, start=1):
        texts = [written(step, prompt) for step in ways.steps()]
        same += [[text[:length] == texts[0][:length] for text in texts] for length in LENGTHS]
        if progress is not None:
            progress(count, len(prompts))
    return [Measure(model.name, measure_of(length), len(prompts), *map(float, row))
            for length, row in zip(LENGTHS, same, strict=True)]


def measure_of(length: int) -> str:
    """What texts of so many tokens are called in the table."""
    return f"identical greedy texts of {length} token{'s' if length > 1 else ''}"


def written(step: Step, prompt: Sequence[int]) -> list[int]:
    """The tokens after a prompt."""
    tokens = [step(prompt)]
    while len(tokens) < WRITTEN:
        tokens.append(step(tokens[-1:]))
    return tokens


def prompts_of(model: Model, sources: Sequence[Sequence[str]], count: int = PROMPTS,
               seed: int = 0) -> list[list[int]]:
    """Token ids of beginnings of texts, of 8 to 20 tokens, as many of each source; the seed chooses
    texts and lengths.

    Texts that are shorter, or have a character outside the vocabulary, are left out.
    """
    rng = np.random.default_rng(seed)
    share = -(-count // len(sources))
    chosen = [ids for texts in sources
              for ids in islice(_beginnings(model, texts, rng), share)]
    return chosen[:count]


def _beginnings(model: Model, texts: Sequence[str],
                rng: np.random.Generator) -> Iterator[list[int]]:
    for place in rng.permutation(len(texts)):
        if texts[place] and model.unknown(texts[place]) is None:
            ids = model.tokenize(texts[place])
            if len(ids) >= SHORTEST:
                yield ids[:rng.integers(SHORTEST, LONGEST + 1)]
