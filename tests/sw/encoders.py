"""Random encoders for tests."""
from types import SimpleNamespace

import numpy as np

from systolith.sw.encoder import calibrate_encoder, quantize_encoder
from systolith.sw.models.bert import Encoder
from systolith.sw.reference.bert import BertWeights, EncoderLayerWeights, Norm
from systolith.sw.reference.weights import AttentionWeights

VOCABULARY = 50


def random_encoder(*, width=24, heads=3, hidden=40, layers=2, seed=0):
    """Float weights of an encoder with 40 positions."""
    rng = np.random.default_rng(seed)

    def weight(rows, columns):
        return rng.normal(0, 1 / np.sqrt(rows), (rows, columns))

    def bias(size):
        return rng.normal(0, 0.1, size)

    def norm():
        return Norm(gain=rng.uniform(0.5, 1.5, width), bias=bias(width))

    def layer():
        attention = AttentionWeights(
            **{name: weight(width, width) for name in ("wq", "wk", "wv", "wo")},
            **{name: bias(width) for name in ("bq", "bk", "bv", "bo")}, heads=heads,
            kv_heads=heads, head_dim=width // heads, causal=False)
        return EncoderLayerWeights(
            attention=attention, norm1=norm(), up=weight(width, hidden), up_bias=bias(hidden),
            down=weight(hidden, width), down_bias=bias(width), norm2=norm())

    return BertWeights(
        words=rng.normal(0, 0.05, (VOCABULARY, width)), positions=rng.normal(0, 0.03, (40, width)),
        norm=norm(), layers=tuple(layer() for _ in range(layers)), epsilon=1e-12)


def random_texts(*lengths, seed=1):
    """Token ids of texts of these lengths."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, VOCABULARY, length).tolist() for length in lengths]


def quantized(weights, **options):
    """The integer encoder, calibrated on random texts."""
    samples = random_texts(5, 9, 17, 3, 40, 40, *[1] * 40)
    return quantize_encoder(weights, calibrate_encoder(weights, samples), **options)


def words_by_number(*, layers):
    """A random encoder whose words are the numbers of tokens."""
    tokenizer = SimpleNamespace(encode=lambda text: SimpleNamespace(
        ids=[int(word) % VOCABULARY for word in text.split()]))
    samples = tuple(" ".join(map(str, ids)) for ids in random_texts(5, 9, 17, 3, 40, *[1] * 40))
    return Encoder(name="random", weights=random_encoder(layers=layers), tokenizer=tokenizer,
                   samples=samples)
