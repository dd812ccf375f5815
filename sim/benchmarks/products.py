"""Matrix products: square and ragged ones, those of layers, and pruned ones."""
from collections.abc import Iterator, Sequence
from functools import partial, reduce

import numpy as np

from systolith.sim.benchmarks.work import Benchmark, Measured, Work
from systolith.sw.compiler import compile_product
from systolith.sw.runtime.device import Device

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


def products() -> Iterator[Benchmark]:
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
