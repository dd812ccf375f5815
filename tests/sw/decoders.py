"""Random decoders for tests."""
import numpy as np

from systolith.sw.decoder.compiled import CompiledDecoder
from systolith.sw.decoder.quantize import quantize_decoder
from systolith.sw.decoder.scales import calibrate_decoder
from systolith.sw.reference.weights import AttentionWeights, LayerWeights, LlamaWeights

VOCABULARY, POSITIONS = 43, 40

#: Columns of the residual that are large, and how much larger than the others.
LARGE_COLUMNS, LARGE = (2, 11), 3000.0


def random_decoder(*, large=LARGE, width=22, heads=4, kv_heads=2, head_dim=6, hidden=37, layers=3,
                   seed=0):
    """Float weights of a decoder.

    The first feed-forward network and the second attention make :data:`LARGE_COLUMNS` ``large``.
    """
    rng = np.random.default_rng(seed)

    def weight(rows, columns):
        return rng.normal(0, 1 / np.sqrt(rows), (rows, columns))

    def layer(index):
        angles = np.arange(POSITIONS)[:, None] / 50 ** (np.arange(head_dim // 2) / head_dim)
        attention = AttentionWeights(
            wq=weight(width, heads * head_dim), wk=weight(width, kv_heads * head_dim),
            wv=weight(width, kv_heads * head_dim), wo=weight(heads * head_dim, width),
            heads=heads, kv_heads=kv_heads, head_dim=head_dim, cos=np.cos(angles),
            sin=np.sin(angles), causal=True)
        down = weight(hidden, width)
        if index == 0:
            down[:, LARGE_COLUMNS] *= large / 50
        if index == 1:
            attention.wo[:, LARGE_COLUMNS] *= large
        return LayerWeights(norm1=rng.uniform(0.5, 1.5, width), attention=attention,
                            norm2=rng.uniform(0.5, 1.5, width), gate=weight(width, hidden),
                            up=weight(width, hidden), down=down)

    return LlamaWeights(
        embedding=rng.normal(0, 1, (VOCABULARY, width)), norm=rng.uniform(0.5, 1.5, width),
        layers=tuple(layer(index) for index in range(layers)),
        head=weight(width, VOCABULARY), epsilon=1e-6)


def random_tokens(length, seed=1):
    """Token ids."""
    return np.random.default_rng(seed).integers(0, VOCABULARY, length).tolist()


def quantized(weights):
    """The integer decoder, calibrated on random tokens."""
    return quantize_decoder(weights, calibrate_decoder(
        weights, [random_tokens(30, seed) for seed in range(10, 14)]))


def compiled(config, context=32, **options):
    """A random decoder on a configuration."""
    return CompiledDecoder("random", quantized(random_decoder(**options)), config, context)
