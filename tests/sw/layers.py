"""Random attention layers and odd configurations for the tests."""
import numpy as np

from systolith.hw.config import Config
from systolith.hw.configs import SIMULATED
from systolith.sw.compiler import CompiledAttention, calibrate, compile_attention
from systolith.sw.models.rotary import rotary_angles
from systolith.sw.reference.weights import AttentionWeights
from systolith.sw.runtime.functional import FunctionalDevice

#: Rows below and above columns, few accumulators and row constants, no external memory, semaphores
#: of 2 bits.
ODD_CONFIGS = {config.name: config for config in (
    Config(name="wide", rows=4, cols=8, lanes=2, act_depth=4096, wgt_depth=4096, acc_depth=512,
           vec_depth=16384, const_depth=2048, row_depth=64, ext_bytes=0),
    Config(name="high", rows=16, cols=4, lanes=2, act_depth=4096, wgt_depth=4096, acc_depth=256,
           vec_depth=32768, const_depth=2048, row_depth=32, semaphore_width=2),
    Config(name="scant", rows=8, cols=8, lanes=4, act_depth=4096, wgt_depth=2048, acc_depth=256,
           vec_depth=16384, const_depth=1024, row_depth=16, bus_bytes=8, ext_bytes=1 << 20),
)}

#: Those of boards are too small for what the tests compile.
ALL_CONFIGS = {**SIMULATED, **ODD_CONFIGS}

POSITIONS = 128


def random_layer(rng, *, width=24, heads=3, kv_heads=1, head_dim=10, rotary=True, causal=True,
                 bias=False, pairs="neighbours"):
    """A layer with Gaussian weights."""
    q, kv = heads * head_dim, kv_heads * head_dim
    cos, sin = rotary_angles(POSITIONS, head_dim, 10000.0) if rotary else (None, None)
    biases = {f"b{n}": rng.normal(size=s)
              for n, s in (("q", q), ("k", kv), ("v", kv), ("o", width))} if bias else {}
    return AttentionWeights(
        wq=rng.normal(size=(width, q)), wk=rng.normal(size=(width, kv)),
        wv=rng.normal(size=(width, kv)), wo=rng.normal(size=(q, width)), heads=heads,
        kv_heads=kv_heads, head_dim=head_dim, cos=cos, sin=sin, causal=causal, pairs=pairs,
        **biases)


def random_input(rng, length, width=24):
    """(x, h), (length, width) each."""
    return rng.normal(size=(length, width)), rng.normal(size=(length, width))


def compiled(rng, weights, config, length, **options) -> tuple[CompiledAttention, tuple]:
    """The layer compiled for an input that also calibrates it: (compiled, (x, h))."""
    sample = random_input(rng, length, weights.width)
    scales = calibrate(weights, [sample])
    return compile_attention(weights, scales, config, length=length, **options), sample


def dirty_device(config, rng):
    """A functional device with random bytes in every memory."""
    device = FunctionalDevice(config)
    for name in ("act", "wgt", "vec", "const", "row", "acc", "tables"):
        memory = getattr(device.memories, name)
        memory.reshape(-1).view(np.uint8)[:] = rng.integers(0, 256, memory.nbytes)
    return device
