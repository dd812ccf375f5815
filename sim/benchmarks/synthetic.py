"""Random models, where only the sizes matter."""
import numpy as np

from systolith.sw.models import Model
from systolith.sw.models.rotary import rotary_angles
from systolith.sw.reference.weights import AttentionWeights, Floats, LayerWeights, LlamaWeights

#: Base of the rotary embedding.
_ROTARY_BASE = 10000.0


def random_decoder(name: str, *, width: int, heads: int, kv_heads: int, hidden: int,
                   positions: int, vocabulary: int = 64, seed: int = 0) -> Model:
    """A Llama decoder of one layer with Gaussian weights; its tokens are characters' numbers."""
    rng, size = np.random.default_rng(seed), width // heads

    def weight(rows: int, columns: int) -> Floats:
        return rng.normal(0, 1 / np.sqrt(rows), (rows, columns))

    cos, sin = rotary_angles(positions, size, _ROTARY_BASE)
    attention = AttentionWeights(
        wq=weight(width, width), wk=weight(width, kv_heads * size),
        wv=weight(width, kv_heads * size), wo=weight(width, width), heads=heads,
        kv_heads=kv_heads, head_dim=size, cos=cos, sin=sin)
    layer = LayerWeights(norm1=np.ones(width), attention=attention, norm2=np.ones(width),
                         gate=weight(width, hidden), up=weight(width, hidden),
                         down=weight(hidden, width))
    weights = LlamaWeights(embedding=rng.normal(size=(vocabulary, width)), layers=(layer,),
                           norm=np.ones(width), head=weight(width, vocabulary), epsilon=1e-5)
    text = "".join(chr(token) for token in rng.integers(0, vocabulary, positions))
    return Model(name=name, weights=weights, max_length=positions, unknown=lambda _: None,
                 tokenize=lambda prompt: [ord(each) for each in prompt],
                 detokenize=lambda ids: "".join(map(chr, ids)), prompts=(text, text[::-1]))
