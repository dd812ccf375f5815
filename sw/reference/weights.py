"""The weights of a model as the reference and the compiler take them."""
import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

#: How a rotary embedding pairs the elements of a head: (2i, 2i + 1), or (i, i + head_dim / 2).
NEIGHBOURS, HALVES = "neighbours", "halves"


class ModelError(ValueError):
    """A model, a layer of it or a prompt that cannot be used. Names the value and the limit."""


@dataclass(frozen=True, kw_only=True)
class AttentionWeights:
    """One attention layer: ``y = x + attention(h) @ wo``. With d = width, hd = head size:

    Parameters
    ----------
    wq : (d, heads * hd)
    wk, wv : (d, kv_heads * hd)
    wo : (heads * hd, d)
    heads, kv_heads, head_dim : int
        Query head ``i`` uses key and value head ``i // (heads // kv_heads)``.
    bq, bk, bv, bo : optional
        Biases, one a column.
    cos, sin : (positions, hd / 2), optional
        Rotary embedding; None where the model has none.
    pairs : str
        ``NEIGHBOURS`` or ``HALVES``: which elements the rotary embedding rotates together.
    causal : bool
        Whether a position sees only itself and earlier ones.

    Raises
    ------
    ModelError
        On a shape that does not fit the others, or a weight that is no finite number.
    """

    wq: Floats
    wk: Floats
    wv: Floats
    wo: Floats
    heads: int
    kv_heads: int
    head_dim: int
    bq: Floats | None = None
    bk: Floats | None = None
    bv: Floats | None = None
    bo: Floats | None = None
    cos: Floats | None = None
    sin: Floats | None = None
    pairs: str = NEIGHBOURS
    causal: bool = True

    def __post_init__(self):
        for field in ("heads", "kv_heads", "head_dim"):
            if getattr(self, field) < 1:
                raise ModelError(f"{field} must be at least 1, not {getattr(self, field)}")
        if self.heads % self.kv_heads:
            raise ModelError(f"heads ({self.heads}) must be a multiple of kv_heads "
                             f"({self.kv_heads})")
        if self.pairs not in (NEIGHBOURS, HALVES):
            raise ModelError(f"pairs must be {NEIGHBOURS!r} or {HALVES!r}, not {self.pairs!r}")
        if (self.cos is None) != (self.sin is None):
            raise ModelError("cos and sin must be given together")
        if self.cos is not None and self.head_dim % 2:
            raise ModelError(f"head_dim must be even for a rotary embedding, not {self.head_dim}")
        for name, shape in self._shapes().items():
            _check_tensor(name, getattr(self, name), shape)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        d, q, kv = self.width, self.heads * self.head_dim, self.kv_heads * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {
            "wq": (d, q), "wk": (d, kv), "wv": (d, kv), "wo": (q, d),
            "bq": (q,), "bk": (kv,), "bv": (kv,), "bo": (d,)}
        if self.cos is not None:
            shapes |= dict.fromkeys(("cos", "sin"), (len(self.cos), self.head_dim // 2))
        return {name: shape for name, shape in shapes.items() if getattr(self, name) is not None}

    @property
    def width(self) -> int:
        """Elements of a position's residual vector."""
        return self.wq.shape[0]

    @property
    def group(self) -> int:
        """Query heads that share a key and value head."""
        return self.heads // self.kv_heads

    def neighbours(self) -> "AttentionWeights":
        """The same layer with rotary pairs (2i, 2i + 1): columns of wq, wk, bq, bk are permuted.

        Scores are sums over a head, so the same permutation of queries and keys changes nothing.
        """
        if self.cos is None or self.pairs == NEIGHBOURS:
            return self
        half = self.head_dim // 2
        order = np.arange(self.head_dim).reshape(2, half).T.ravel()  # 0, half, 1, half + 1, ...

        def permute(x, heads):
            if x is None:
                return None
            return x.reshape(*x.shape[:-1], heads, self.head_dim)[..., order].reshape(x.shape)

        return dataclasses.replace(
            self, pairs=NEIGHBOURS, wq=permute(self.wq, self.heads),
            wk=permute(self.wk, self.kv_heads), bq=permute(self.bq, self.heads),
            bk=permute(self.bk, self.kv_heads))


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    """A decoder layer: ``norm1`` (d,), attention, ``norm2`` (d,), ``gate`` and ``up`` (d, f),
    ``down`` (f, d)."""

    norm1: Floats
    attention: AttentionWeights
    norm2: Floats
    gate: Floats
    up: Floats
    down: Floats


@dataclass(frozen=True, kw_only=True)
class LlamaWeights:
    """A decoder: ``embedding`` (vocabulary, d), layers, ``norm`` (d,), ``head`` (d, vocabulary)."""

    embedding: Floats
    layers: tuple[LayerWeights, ...]
    norm: Floats
    head: Floats
    epsilon: float


def _check_tensor(name: str, tensor: Floats, shape: tuple[int, ...]) -> None:
    if tensor.shape != shape:
        raise ModelError(f"{name} has shape {tensor.shape}, but the layer needs {shape}")
    check_finite(name, tensor)


def check_finite(name: str, tensor: Floats) -> None:
    """Raise :class:`ModelError` with the first place where a tensor is not a finite number."""
    bad = np.argwhere(~np.isfinite(tensor))
    if len(bad):
        place = tuple(int(i) for i in bad[0])
        raise ModelError(f"{name}{list(place)} is {tensor[place]}; {len(bad)} of {tensor.size} "
                         "weights are no finite numbers; export the model again")
