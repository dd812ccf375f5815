"""The named set of benchmarks: products, attention, layers and whole models."""
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, cycle, islice
from typing import TypeVar

import numpy as np

from systolith.sim.attention import prepare_layer
from systolith.sw.compiler import compile_product
from systolith.sw.compiler.attention_alone import compile_attention_alone
from systolith.sw.decoder import Session, compile_decoder
from systolith.sw.encoder import compile_encoder, quantized_encoder
from systolith.sw.models import Model, load_model
from systolith.sw.models.bert import Encoder
from systolith.sw.models.encoders import load_encoder
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.runtime.device import Counters, Device, sum_counters


@dataclass(frozen=True)
class Work:
    """What was measured.

    Parameters
    ----------
    macs : int
        Useful multiply-accumulates.
    counters : Counters
        Summed over the runs.
    bit_exact : bool
        Whether every byte of the result equals the reference.
    head_dim : int
        Elements of a head, where scores are masked.
    """

    macs: int
    counters: Counters
    bit_exact: bool
    head_dim: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.macs + other.macs, sum_counters([self.counters, other.counters]),
                    self.bit_exact and other.bit_exact, max(self.head_dim, other.head_dim))


#: The runs to be measured.
Measured = Callable[[], Work]


@dataclass(frozen=True)
class Benchmark:
    """A piece of work with a name.

    Parameters
    ----------
    name : str
    prepare : function of a device
        Compiles and does what comes before; the runs that it returns are measured.
    slow : bool
        Takes more than about ten seconds, so it runs only where it is asked for.
    """

    name: str
    prepare: Callable[[Device], Measured]
    slow: bool = False


# Products ----------------------------------------------------------------------------------------

#: (m, k, n) of a product.
Size = tuple[int, int, int]

#: Sizes of the pruned products, whole tiles on all configurations.
_PRUNED = (128, 384, 384)

#: Widths, those of all key heads, and of the feed-forward network.
_GLASSLLM, _SMOLLM2 = (128, 64, 341), (576, 192, 1536)


def _product(size: Size, device: Device, *, batch: int = 1, resident: bool) -> Measured:
    m, k, n = size
    product = compile_product(device.config, m=m, k=k, n=n, batch=batch, resident=resident)

    def run() -> Work:
        result = product.run(device)
        return Work(product.macs, result.counters, result.bit_exact)
    return run


def _all_products(sizes: Sequence[Size], device: Device, *, resident: bool) -> Measured:
    runs = [_product(size, device, resident=resident) for size in sizes]
    return lambda: reduce(Work.__add__, (run() for run in runs))


def _decoder_sizes(length: int, width: int, kv: int, hidden: int) -> dict[str, Size]:
    """One of each size: queries and output, keys and values, gate and up, down."""
    return {"qo": (length, width, width), "kv": (length, width, kv),
            "gateup": (length, width, hidden), "down": (length, hidden, width)}


def _sizes() -> Iterator[tuple[str, Size, int]]:
    """(name, size, batch) of all products."""
    yield "product-512x512x512", (512, 512, 512), 1
    for size in ((3, 3, 3), (1, 384, 384), (127, 31, 33), (65, 257, 129)):
        yield f"ragged-{'x'.join(map(str, size))}", size, 1
    for name, size in (("qkvo", (128, 384, 384)), ("up", (128, 384, 1536)),
                       ("down", (128, 1536, 384))):
        yield f"minilm-128-{name}", size, 1
    for name, size in (("scores", (128, 32, 128)), ("mix", (128, 128, 32))):
        yield f"minilm-128-{name}", size, 12
    for model, widths in (("glassllm", _GLASSLLM), ("smollm2", _SMOLLM2)):
        for length in (1, 16, 128):
            for name, size in _decoder_sizes(length, *widths).items():
                yield f"{model}-{length}-{name}", size, 1


def _products() -> Iterator[Benchmark]:
    """Each product twice: through external memory, and with operands that are in the core."""
    for name, size, batch in _sizes():
        yield Benchmark(name, partial(_product, size, batch=batch, resident=False))
        yield Benchmark(f"{name}-resident", partial(_product, size, batch=batch, resident=True))
    for model, widths in (("glassllm", _GLASSLLM), ("smollm2", _SMOLLM2)):
        size = _decoder_sizes(1, *widths)
        layer = [size[name] for name in ("qo", "kv", "kv", "qo", "gateup", "gateup", "down")]
        yield Benchmark(f"{model}-1-layer-resident", partial(_all_products, layer, resident=True))
    for percent in (25, 50, 75):
        name = f"pruned-{'x'.join(map(str, _PRUNED))}-{percent}"
        yield Benchmark(name, partial(_pruned, percent / 100))


def _pruned(share: float, device: Device) -> Measured:
    """A product whose weights lost a share of their tiles."""
    rows, cols = device.config.rows, device.config.cols
    rng, (m, k, n) = np.random.default_rng(0), _PRUNED
    present = rng.random((k // rows, n // cols)) >= share
    weight = rng.integers(-128, 128, (k, n)) * np.kron(present, np.ones((rows, cols), np.int64))
    product = compile_product(device.config, m=m, k=k, n=n, weight=weight)

    def run() -> Work:
        result = product.run(device)
        return Work(product.macs, result.counters, result.bit_exact)
    return run


# Attention ---------------------------------------------------------------------------------------

def _attention(length: int, head_dim: int, device: Device, *, causal: bool) -> Measured:
    """Four heads, or as many of them as activation memory holds."""
    heads = 2 if length * head_dim > 1 << 14 else 4
    mixed = compile_attention_alone(device.config, length=length, heads=heads, head_dim=head_dim,
                                    causal=causal)

    def run() -> Work:
        result = mixed.run(device)
        return Work(mixed.macs, result.counters, result.bit_exact, head_dim)
    return run


def _attentions() -> Iterator[Benchmark]:
    for causal in (False, True):
        for head_dim in (32, 64):
            for length in (32, 128, 512):
                name = f"attention-{length}-h{head_dim}{'-causal' if causal else ''}"
                yield Benchmark(name, partial(_attention, length, head_dim, causal=causal))


# Layers and models -------------------------------------------------------------------------------

Loaded = TypeVar("Loaded", Model, Encoder)


def tokens(model: Model, length: int) -> list[int]:
    """So many tokens: the model's own prompts one after the other, over and over."""
    ids = chain.from_iterable(model.encode(prompt) for prompt in model.prompts)
    return list(islice(cycle(ids), length))


def first_layers(model: Loaded, layers: int | None) -> Loaded:
    """A loaded model with only so many layers; all for None."""
    weights = dataclasses.replace(model.weights, layers=model.weights.layers[:layers])
    return dataclasses.replace(model, weights=weights)


def _attention_layer(length: int, device: Device) -> Measured:
    """Projections, attention, output and residual of glassllm's first layer, with all moves."""
    model = load_model("glassllm")
    layer = prepare_layer(model, 0, tokens(model, length), device.config)

    def run() -> Work:
        result = layer.compiled.run(device, layer.x, layer.h)
        return Work(layer.compiled.macs, result.counters, result.bit_exact, model.head_dim)
    return run


def _decoder(layers: int | None, before: int, length: int, device: Device) -> Measured:
    """glassllm, or its first layers, on ``length`` tokens after ``before``; weights resident."""
    model = first_layers(load_model("glassllm"), layers)
    session = Session(compile_decoder(model, device.config), device)
    ids = tokens(model, before + length)
    if before:
        session.prefill(ids[:before])
    expected = decode(ids, session.compiled.model, Cache())

    def run() -> Work:
        result = session.prefill(ids[before:])
        exact = (np.array_equal(result.logits[-1], expected.logits[-1])
                 and result.token == int(expected.tokens[-1]))
        return Work(result.macs, result.counters, exact, model.head_dim)
    return run


def _encoder(layers: int | None, length: int, device: Device) -> Measured:
    """MiniLM, or its first layers, from tokens to an embedding; weights come as they are used."""
    encoder = first_layers(load_encoder("minilm"), layers)
    compiled = compile_encoder(quantized_encoder(encoder), device.config, length=length,
                               name=encoder.name)
    ids = encoder.tokenizer.encode(" ".join(encoder.samples)).ids[:length]

    def run() -> Work:
        compiled.load(device)
        result = compiled.run(device, ids)
        return Work(compiled.macs, result.counters, result.bit_exact)
    return run


def _models() -> Iterator[Benchmark]:
    for length in (16, 64, 128):
        yield Benchmark(f"layer-glassllm-attention-{length}", partial(_attention_layer, length))
    yield Benchmark("layer-glassllm-128", partial(_decoder, 1, 0, 128))
    yield Benchmark("layer-minilm-128", partial(_encoder, 1, 128))
    yield Benchmark("model-glassllm-prefill-100", partial(_decoder, None, 0, 100))
    yield Benchmark("model-glassllm-decode-100", partial(_decoder, None, 100, 1))
    yield Benchmark("model-minilm-128", partial(_encoder, None, 128), slow=True)


#: All benchmarks by name.
BENCHMARKS: dict[str, Benchmark] = {
    each.name: each for each in (*_products(), *_attentions(), *_models())}


class BenchmarkError(ValueError):
    """A name that no benchmark has or begins with."""


def select(names: Iterable[str]) -> list[Benchmark]:
    """The benchmarks that are named, or whose names begin with a name and a dash, in order.

    Raises
    ------
    BenchmarkError
        When there is none.
    """
    chosen: dict[str, Benchmark] = {}
    for name in names:
        found = {each: BENCHMARKS[each] for each in BENCHMARKS
                 if each == name or each.startswith(f"{name}-")}
        if not found:
            groups = dict.fromkeys(each.partition("-")[0] for each in BENCHMARKS)
            raise BenchmarkError(
                f"unknown benchmark {name!r}; choose a group ({', '.join(groups)}) or a name that "
                "`systolith bench --list` shows")
        chosen |= found if name not in BENCHMARKS else {name: BENCHMARKS[name]}
    return list(chosen.values())
