"""Choosing the next token from the scores of all tokens, on the host."""
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen; temperature 0 is greedy.

    Parameters
    ----------
    temperature : float
        Divides the scores; from 0 on.
    top_k : int, optional
        Only the k best tokens.
    top_p : float
        Only the fewest best tokens whose probabilities reach this sum (Holtzman et al., The
        Curious Case of Neural Text Degeneration, 2020); above 0, at most 1.
    seed : int
        Of the random numbers.

    Raises
    ------
    ValueError
        When a value is outside its limits.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0
    _rng: np.random.Generator = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        if not self.temperature >= 0:
            raise ValueError(f"temperature must be at least 0, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        object.__setattr__(self, "_rng", np.random.default_rng(self.seed))

    @property
    def greedy(self) -> bool:
        """Whether the best token is taken, which the accelerator finds by itself."""
        return self.temperature == 0

    def choose(self, scores: NDArray[np.floating]) -> int:
        """A token; ``scores`` (V,) are logits in floating point."""
        if self.greedy:
            return int(np.argmax(scores))
        order, p = self.distribution(scores)
        return int(self._rng.choice(order, p=p))

    def distribution(self, scores: NDArray[np.floating]
                     ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The tokens that may be chosen, best first, and their probabilities (sum 1)."""
        order = np.argsort(-scores, kind="stable")[:self.top_k]
        scaled = np.asarray(scores, dtype=np.float64)[order] / self.temperature
        p = np.exp(scaled - scaled[0])
        p /= p.sum()
        # The token that reaches the sum still belongs to it.
        keep = np.concatenate([[True], np.cumsum(p)[:-1] < self.top_p])
        return order[keep], p[keep] / p[keep].sum()
