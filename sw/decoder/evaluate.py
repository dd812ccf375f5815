"""Perplexity of text, in floating point, in INT8, and in the integers of the machine."""
import numpy as np

from systolith.sw.decoder.ways import Ways
from systolith.sw.models.accuracy import Measure, Ticks
from systolith.sw.models.model import Model
from systolith.sw.reference.weights import Floats, ModelError


def perplexity(model: Model, ways: Ways, text: str, *, window: int, windows: int,
               progress: Ticks | None = None, measure: str = "perplexity") -> Measure:
    """Perplexity of the beginning of a text, in windows that do not overlap; each predicts the
    token after each of its own from nothing but itself.

    Parameters
    ----------
    window, windows : int
        Tokens of a window, and how many windows.
    progress : function of (windows done, windows), optional

    Raises
    ------
    ModelError
        When the text is too short.
    """
    # Eight characters a token are more than enough text.
    ids = model.tokenize(text[:8 * window * windows])
    count = window * windows
    if len(ids) <= count:
        raise ModelError(f"the text has {len(ids):,} tokens; {windows} windows of {window} tokens "
                         f"and the one after them need {count + 1:,}: take at most "
                         f"{(len(ids) - 1) // window * window:,}")
    losses = np.zeros(3)
    for start in range(0, count, window):
        targets = np.array(ids[start + 1:start + window + 1])
        losses += [_loss(logits, targets) for logits in ways.logits(ids[start:start + window])]
        if progress is not None:
            progress(start // window + 1, windows)
    exact, int8, ours = np.exp(losses / count)
    return Measure(model.name, measure, count, float(exact), float(int8), float(ours))


def _loss(logits: Floats, targets: np.ndarray) -> float:
    """Sum of the cross-entropies of (T, V) logits to (T,) tokens, in nats."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    chosen = shifted[np.arange(len(targets)), targets]
    return float((np.log(np.exp(shifted).sum(axis=1)) - chosen).sum())
