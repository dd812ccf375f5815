"""A matrix product by itself, operands resident: for benchmarks and tests of the array."""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Output, Pass, Product, Scale, Sink
from systolith.sw.compiler.allocate import Allocator, Buffer, CapacityError, with_advice
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.fields import Span, accumulators, spans
from systolith.sw.compiler.layout import (
    activation_words,
    ceil_div,
    from_activation_words,
    weight_tiles,
)
from systolith.sw.compiler.quantize import scale_word_of
from systolith.sw.compiler.schedule import schedule
from systolith.sw.compiler.verifier import verify
from systolith.sw.reference import numerics
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device
from systolith.sw.runtime.program import Program, Section

#: At least this many blocks, where there are enough tiles: only the last one's drain is exposed.
BLOCKS = 8

#: Most rows of a block.
BLOCK_ROWS = 32


@dataclass(frozen=True)
class ProductResult:
    """INT8 (m, n) read back and as the reference has it."""

    output: NDArray[np.int8]
    expected: NDArray[np.int8]
    counters: Counters

    @property
    def bit_exact(self) -> bool:
        """Whether every output byte equals the reference."""
        return bool(np.array_equal(self.output, self.expected))


@dataclass(frozen=True)
class CompiledProduct:
    """``requantize(a @ b)`` with ``a`` INT8 (m, k), ``b`` INT8 (k, n) in the program's image."""

    program: Program
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    word: int
    output: Buffer

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a run."""
        return self.program.macs

    def run(self, device: Device, max_cycles: int = DEFAULT_MAX_CYCLES) -> ProductResult:
        """Load, run, read back and compare."""
        self.program.load(device)
        device.run(self.program.commands)
        counters = device.wait(max_cycles)
        size = self.program.config.word_bytes(Region.ACT)
        data = device.read(Region.ACT, self.output.base * size, self.output.words * size)
        output = from_activation_words(data, self.program.config, len(self.a), self.b.shape[1])
        sums = numerics.scale(numerics.matmul(self.a, self.b), self.word)
        expected = np.clip(sums, *numerics.RANGES[Output.INT8]).astype(np.int8)
        return ProductResult(output, expected, counters)


def compile_product(config: Config, *, m: int, k: int, n: int, seed: int = 0) -> CompiledProduct:
    """A product of random INT8 operands that already are in the core when the run starts.

    The result is requantized to INT8 into activation memory, block by block under the products of
    the blocks that follow.

    Raises
    ------
    CompileError
        When a size is no positive number or does not fit.
    """
    for name, value in (("m", m), ("k", k), ("n", n)):
        if not 1 <= value <= 65535:
            raise CompileError(f"{name} must be from 1 to 65535, not {value}")
    what = f"a product {m}x{k}x{n}"
    try:
        act, wgt, out = _places(config, m, k, n, what)
    except CapacityError as error:
        raise with_advice(error, lambda other: _places(other, m, k, n, what)) from None
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    # Three standard deviations of a sum are the range of INT8.
    word = int(scale_word_of(127 / (3 * 128 * 128 / 3 * np.sqrt(k))))
    size = config.word_bytes
    sections = (
        Section("a", Region.ACT, act.base * size(Region.ACT), activation_words(a, config)),
        Section("b", Region.WGT, wgt.base * size(Region.WGT), weight_tiles(b, config)))
    blocks = _blocks(config, m, n)
    commands = [command for number, block in enumerate(blocks)
                for command in _block(config, (m, k, n), block, number, (act, wgt, out), word)]
    streams = schedule(commands, config)
    verify(config, streams)
    return CompiledProduct(Program(config, streams, sections, what, m * k * n), a, b, word, out)


def _places(config: Config, m: int, k: int, n: int, what: str) -> tuple[Buffer, Buffer, Buffer]:
    take, kt = Allocator(config), ceil_div(k, config.rows)
    act = take.take(Region.ACT, m * kt)
    out = take.take(Region.ACT, m * ceil_div(n, config.rows))
    wgt = take.take(Region.WGT, ceil_div(n, config.cols) * kt)
    take.check(what)
    return act, wgt, out


def _blocks(config: Config, m: int, n: int) -> list[tuple[Span, Span]]:
    """(rows, output tiles) of each block. Tiles come in groups that fill whole sink words."""
    rows, tiles = min(m, BLOCK_ROWS), ceil_div(n, config.cols)
    whole = max(1, config.rows // config.cols)
    wanted = ceil_div(tiles * ceil_div(m, rows), BLOCKS)
    group = max(1, min(config.acc_half // rows, wanted) // whole) * whole
    return [(span, part) for span in spans(m, rows) for part in spans(tiles, group)]


def _block(config: Config, size: tuple[int, int, int], block: tuple[Span, Span],
           number: int, places: tuple[Buffer, Buffer, Buffer], word: int) -> Iterator[Command]:
    (_, k, n), ((start, end), (first, last)), (act, wgt, out) = size, block, places
    kt, words = ceil_div(k, config.rows), ceil_div(n, config.rows)
    columns = min(last * config.cols, n) - first * config.cols
    beats = ceil_div(columns, config.rows) * config.rows // config.lanes
    stride = ceil_div(beats * config.lanes, config.cols)
    acc = number % 2 * config.acc_half
    yield Product(
        count0=kt, act0_stride=1, wgt0_stride=1,
        count1=end - start, act1_stride=kt, acc1_stride=stride,
        count2=last - first, wgt2_stride=kt, acc2_stride=1,
        act_base=act.base + start * kt, wgt_base=wgt.base + first * kt, acc_base=acc)
    multiplier, shift = numerics.split_scale(word)
    yield Pass(
        **accumulators(acc, stride),
        rows=end - start, beats=beats, valid=columns, scale=Scale.TENSOR,
        multiplier=int(multiplier), shift=int(shift), output=Output.INT8, sink=Sink.ACT,
        sink_base=out.base + start * words + first * config.cols // config.rows,
        sink_row_stride=words, sink_tile_stride=1)
