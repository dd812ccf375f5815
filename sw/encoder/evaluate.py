"""How near the machine's embeddings are to the float ones, and how well they serve a task.

Everything beside floating point comes from the integer reference, which equals the devices byte for
byte, so that thousands of texts take minutes.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from systolith.sw.encoder.quantize import quantize_encoder
from systolith.sw.encoder.scales import calibrate_encoder
from systolith.sw.encoder.session import as_floats
from systolith.sw.encoder.simulate import SimulatedEncoder
from systolith.sw.models.accuracy import Measure, Ticks
from systolith.sw.models.bert import Encoder
from systolith.sw.models.datasets import Snippet
from systolith.sw.reference import bert, encoder
from systolith.sw.reference.weights import Floats, ModelError

#: Texts that go through at once: enough rows for the products, few enough for the caches.
BATCH = 32

#: Parts of the data of which each is predicted from the others, and weight of the ridge.
FOLDS, RIDGE = 5, 1.0


@dataclass(frozen=True)
class Embeddings:
    """Unit vectors (texts, d) in floating point, with INT8 operands and floating point between, and
    in the integers of the machine."""

    float: Floats
    int8: Floats
    ours: Floats

    def cosines(self) -> tuple[Floats, Floats]:
        """Cosines (texts,) of the ``int8`` and the ``ours`` vectors to the float ones."""
        return (self.float * self.int8).sum(axis=1), (self.float * self.ours).sum(axis=1)


def evaluate(model: Encoder, snippets: Sequence[Snippet],
             progress: Ticks | None = None) -> list[Measure]:
    """Mean cosine to the float embeddings, and how well a linear probe tells the positive snippets.

    Parameters
    ----------
    progress : function of (texts done, texts), optional

    Raises
    ------
    ModelError
        When there are too few texts for the probe.
    """
    if len(snippets) < FOLDS:
        raise ModelError(f"the probe needs at least {FOLDS} texts, not {len(snippets)}")
    vectors = embed_three_ways(model, [snippet.text for snippet in snippets], progress)
    positive = [snippet.score > 0 for snippet in snippets]
    int8, ours = (float(cosine.mean()) for cosine in vectors.cosines())
    probes = [probe_accuracy(each, positive)
              for each in (vectors.float, vectors.int8, vectors.ours)]
    return [Measure(model.name, "mean cosine to float", len(snippets), 1.0, int8, ours),
            Measure(model.name, "probe accuracy", len(snippets), *probes)]


def embed_three_ways(model: Encoder, texts: Sequence[str],
                     progress: Ticks | None = None) -> Embeddings:
    """Embeddings of texts; what is longer than the model takes is cut.

    Parameters
    ----------
    progress : function of (texts done, texts), optional
    """
    scales = calibrate_encoder(model.weights, model.calibration())
    integers = quantize_encoder(model.weights, scales)
    simulated = SimulatedEncoder(model.weights, scales)
    ids = [model.encode(text, truncate=True) for text in texts]
    rows: tuple[list[Floats], list[Floats], list[Floats]] = ([], [], [])
    for start in range(0, len(ids), BATCH):
        batch = ids[start:start + BATCH]
        rows[0].append(np.stack([bert.embed(each, model.weights) for each in batch]))
        rows[1].append(simulated.embed_all(batch))
        rows[2].append(as_floats(encoder.embed_all(batch, integers)))
        if progress is not None:
            progress(min(start + BATCH, len(ids)), len(ids))
    return Embeddings(*(np.concatenate(each) for each in rows))


def probe_accuracy(vectors: Floats, positive: ArrayLike, seed: int = 0) -> float:
    """Part of the texts whose class a linear classifier tells from their vectors (texts, d).

    Ridge regression of the classes as -1 and 1; each fold is predicted from the others. The folds
    depend on the number of texts and the seed alone, so models see the same.
    """
    signs = np.where(np.asarray(positive, dtype=bool), 1.0, -1.0)
    order = np.random.default_rng(seed).permutation(len(signs))
    right = 0
    for fold in range(FOLDS):
        test = np.zeros(len(signs), dtype=bool)
        test[order[fold::FOLDS]] = True
        right += int(np.sum(_predict(vectors[~test], signs[~test], vectors[test])
                            == (signs[test] > 0)))
    return right / len(signs)


def _predict(vectors: Floats, signs: Floats, unknown: Floats) -> NDArray[np.bool_]:
    centre, offset = vectors.mean(axis=0), signs.mean()
    x = vectors - centre
    gram = x.T @ x + RIDGE * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, x.T @ (signs - offset))             # (d,)
    return (unknown - centre) @ weights + offset > 0
