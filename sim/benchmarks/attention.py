"""Attention alone: scores, softmax and mixed values, with all operands in the core."""
from collections.abc import Iterator
from functools import partial

from systolith.sim.benchmarks.work import Benchmark, Measured, Work
from systolith.sw.compiler.attention_alone import compile_attention_alone
from systolith.sw.runtime.device import Device


def _attention(length: int, head_dim: int, device: Device, *, causal: bool) -> Measured:
    """Four heads, or as many of them as activation memory holds."""
    heads = 2 if length * head_dim > 1 << 14 else 4
    mixed = compile_attention_alone(device.config, length=length, heads=heads, head_dim=head_dim,
                                    causal=causal)

    def run() -> Work:
        result = mixed.run(device)
        return Work(mixed.macs, result.counters, result.bit_exact, head_dim)
    return run


def attentions() -> Iterator[Benchmark]:
    for causal in (False, True):
        for head_dim in (32, 64):
            for length in (32, 128, 512):
                name = f"attention-{length}-h{head_dim}{'-causal' if causal else ''}"
                yield Benchmark(name, partial(_attention, length, head_dim, causal=causal))
