"""Attention by itself, out of the core: scores, softmax and mixed values of random operands."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config, Region
from systolith.sw.compiler.allocate import Buffer, CapacityError, with_advice
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.heads import HeadLowering
from systolith.sw.compiler.layout import activation_words, from_activation_words, pad, weight_tiles
from systolith.sw.compiler.plan import Plan, Shape, plan
from systolith.sw.compiler.quantize import scale_word_of
from systolith.sw.compiler.schedule import schedule
from systolith.sw.compiler.verifier import verify
from systolith.sw.reference import numerics
from systolith.sw.reference.attention import Projection, QuantizedAttention, key_mask, mix
from systolith.sw.reference.numerics import NARROW_SHIFT, Ints, exp2_table
from systolith.sw.reference.softmax import LOG2_UNITS, softmax
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device
from systolith.sw.runtime.program import Program, Section

#: Standard deviation of the scores before softmax.
DEVIATION = 2.0

#: Variance of the integers -128 to 127, all alike.
_VARIANCE = (256 ** 2 - 1) / 12


@dataclass(frozen=True)
class MixedResult:
    """Mixed values INT8 (T, H * hd) as the device and as the integer reference gave them."""

    output: NDArray[np.int8]
    expected: NDArray[np.int8]
    counters: Counters

    @property
    def bit_exact(self) -> bool:
        """Whether every output byte equals the reference."""
        return bool(np.array_equal(self.output, self.expected))


@dataclass(frozen=True)
class CompiledMix:
    """Attention between resident queries, keys and values; the result replaces the queries.

    Parameters
    ----------
    program : Program
    plan : Plan
    layer : QuantizedAttention
        Its scale words are used; it has no weights.
    q : (H, T, hd) INT8
    k, v : (K, T, hd) INT8
    """

    program: Program
    plan: Plan
    layer: QuantizedAttention
    q: Ints
    k: Ints
    v: Ints

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates: of the scores that the mask lets through, twice."""
        return self.program.macs

    def run(self, device: Device, max_cycles: int = DEFAULT_MAX_CYCLES) -> MixedResult:
        """Load, run, read back and compare."""
        self.program.load(device)
        device.run(self.program.commands)
        return self.result(device, device.wait(max_cycles))

    def result(self, device: Device, counters: Counters) -> MixedResult:
        """Read back what a run left in a core, and compare."""
        size = self.program.config.word_bytes(Region.ACT)
        data = device.read(Region.ACT, self.plan.q.base * size, self.plan.q.words * size)
        return MixedResult(self._result(data), self._expected(), counters)

    def _result(self, data: bytes) -> NDArray[np.int8]:
        heads, length, size = self.q.shape
        tiles = self.plan.tiles.head_in
        rows = np.frombuffer(data, np.int8).reshape(heads * tiles, length, -1).transpose(1, 0, 2)
        padded = from_activation_words(rows.tobytes(), self.program.config, length,
                                       heads * tiles * self.program.config.rows)
        return padded.reshape(length, heads, -1)[:, :, :size].reshape(length, -1)

    def _expected(self) -> NDArray[np.int8]:
        layer, shape = self.layer, self.plan.shape
        mask = key_mask(shape.length, shape.valid, shape.causal)
        heads = []
        for head, q in enumerate(self.q):
            kv = head // layer.group
            p, total = softmax(numerics.matmul(q, self.k[kv].T), layer.score_words[head], mask)
            heads.append(mix(p, total, self.v[kv], layer.mix_words[head]))
        return np.concatenate(heads, axis=1).astype(np.int8)


def compile_attention_alone(config: Config, *, length: int, heads: int, head_dim: int,
                            kv_heads: int | None = None, valid: int | None = None,
                            causal: bool = False, seed: int = 0) -> CompiledMix:
    """Attention of random INT8 queries, keys and values that are in the core at the start: no
    projections, no moves.

    Parameters
    ----------
    config : Config
    length : int
        Positions T.
    heads, kv_heads : int
        Query heads, and key and value heads; as many by default.
    head_dim : int
        Elements of a head.
    valid : int, optional
        Positions that are keys; those after them are padding. All by default.
    causal : bool
        A position sees only itself and earlier ones.
    seed : int
        Of the operands.

    Raises
    ------
    CompileError
        When a size is no positive number, or it does not fit.
    """
    kv_heads = heads if kv_heads is None else kv_heads
    valid = length if valid is None else valid
    for name, value in (("length", length), ("heads", heads), ("kv_heads", kv_heads),
                        ("head_dim", head_dim)):
        if not 1 <= value <= 65535:
            raise CompileError(f"{name} must be from 1 to 65535, not {value}")
    if heads % kv_heads:
        raise CompileError(f"heads must be a multiple of kv_heads, not {heads} of {kv_heads}")
    if not 1 <= valid <= length:
        raise CompileError(f"valid must be from 1 to the length, {length}, not {valid}")
    # Without projections a width of one is enough.
    shape = Shape(length=length, valid=valid, width=1, heads=heads, kv_heads=kv_heads,
                  head_dim=head_dim, rotary=False, causal=causal)
    what = f"attention of {heads} heads of {head_dim} at length {length}"
    try:
        places = plan(shape, config, what)
    except CapacityError as error:
        raise with_advice(error, lambda other: plan(shape, other, what)) from None
    rng = np.random.default_rng(seed)
    q = rng.integers(-128, 128, (heads, length, head_dim))
    k, v = rng.integers(-128, 128, (2, kv_heads, length, head_dim))
    layer = _layer(shape)
    streams = schedule(list(HeadLowering(layer, places, config).commands()), config)
    verify(config, streams)
    program = Program(config, streams, tuple(_sections(config, places, q, k, v)), what,
                      shape.attention_macs)
    return CompiledMix(program, places, layer, q, k, v)


def _layer(shape: Shape) -> QuantizedAttention:
    """A layer without weights, whose scores have the deviation :data:`DEVIATION`."""
    none = Projection(weight=np.zeros((1, shape.head_dim), np.int64), bias=None,
                      words=np.zeros(shape.head_dim, np.int64))
    unit = DEVIATION / (_VARIANCE * np.sqrt(shape.head_dim))
    each = np.ones(shape.heads)
    return QuantizedAttention(
        q=(none,) * shape.heads, k=(none,) * shape.kv_heads, v=(none,) * shape.kv_heads, out=none,
        score_words=scale_word_of(each * unit * LOG2_UNITS),
        mix_words=scale_word_of(each * (1 << NARROW_SHIFT)), rope=None, causal=shape.causal,
        h_scale=1.0, x_scale=1.0)


def _sections(config: Config, places: Plan, q: Ints, k: Ints, v: Ints) -> list[Section]:
    """Queries tile by tile, keys transposed, values straight, and the table of powers."""
    size = places.tiles.head_in * config.rows
    queries = activation_words(pad(q, *q.shape[:2], size).reshape(-1, size), config)
    tiles = np.frombuffer(queries, np.int8).reshape(*q.shape[:2], places.tiles.head_in, -1)
    parts: list[tuple[str, Buffer, bytes]] = [
        ("q", places.q, tiles.transpose(0, 2, 1, 3).tobytes()),
        ("exp2", places.table, exp2_table().astype("<i2").tobytes())]
    for head in range(len(k)):
        parts += [(f"k{head}", places.k[head], weight_tiles(k[head].T, config)),
                  (f"v{head}", places.v[head], weight_tiles(v[head], config))]
    return [Section(name, buffer.region, buffer.base * config.word_bytes(buffer.region), data)
            for name, buffer, data in parts]
