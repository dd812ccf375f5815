"""Matrix products whose sums stay in the accumulators: no passes, no moves."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Engine, Product
from systolith.sw.compiler.allocate import CapacityError, check_capacity, with_advice
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.layout import activation_words, ceil_div, weight_tiles
from systolith.sw.compiler.verifier import verify
from systolith.sw.reference import numerics
from systolith.sw.reference.numerics import Ints
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device
from systolith.sw.runtime.program import Program, Section


@dataclass(frozen=True)
class SumsResult:
    """INT32 sums (m, n), read back and as the reference has them."""

    output: NDArray[np.int32]
    expected: NDArray[np.int32]
    counters: Counters

    @property
    def bit_exact(self) -> bool:
        """Whether every sum equals the reference."""
        return bool(np.array_equal(self.output, self.expected))


@dataclass(frozen=True)
class CompiledSums:
    """``a @ b`` as one command.

    Parameters
    ----------
    program : Program
    a : (m, k) INT8
    b : (k, n) INT8
    """

    program: Program
    a: Ints
    b: Ints

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a run: no padding."""
        return self.program.macs

    def run(self, device: Device, max_cycles: int = DEFAULT_MAX_CYCLES) -> SumsResult:
        """Load, run, read the accumulators and compare."""
        self.program.load(device)
        device.run(self.program.commands)
        counters = device.wait(max_cycles)
        (m, _), (_, n), cols = self.a.shape, self.b.shape, self.program.config.cols
        tiles = ceil_div(n, cols)
        size = m * tiles * self.program.config.word_bytes(Region.ACC)
        words = np.frombuffer(device.read(Region.ACC, 0, size), "<i4").reshape(tiles, m, cols)
        output = words.swapaxes(0, 1).reshape(m, tiles * cols)[:, :n].astype(np.int32)
        return SumsResult(output, numerics.matmul(self.a, self.b).astype(np.int32), counters)


def compile_sums(config: Config, *, m: int, k: int, n: int, seed: int = 0) -> CompiledSums:
    """A product of random INT8 operands that are in the core; the host reads its sums.

    Rows are the innermost loop, so that a weight tile is taken once for all of them: a compact
    core, which takes one every second cycle, is then as fast as its cells.

    Parameters
    ----------
    config : Config
    m, k, n : int
        (m, k) times (k, n).
    seed : int
        Of the operands.

    Raises
    ------
    CompileError
        When a size is no positive number or something does not fit.
    """
    for name, value in (("m", m), ("k", k), ("n", n)):
        if not 1 <= value <= 65535:
            raise CompileError(f"{name} must be from 1 to 65535, not {value}")
    what = f"the sums of a product {m}x{k}x{n}"
    try:
        _check(config, m, k, n, what)
    except CapacityError as error:
        raise with_advice(error, lambda other: _check(other, m, k, n, what)) from None
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    kt, nt = ceil_div(k, config.rows), ceil_div(n, config.cols)
    streams: dict[Engine, list[Command]] = {Engine.MATRIX: [Product(
        count0=m, act0_stride=kt, acc0_stride=1, count1=kt, act1_stride=1, wgt1_stride=1,
        count2=nt, wgt2_stride=kt, acc2_stride=m)]}
    verify(config, streams)
    sections = (Section("a", Region.ACT, 0, activation_words(a, config)),
                Section("b", Region.WGT, 0, weight_tiles(b, config)))
    return CompiledSums(Program(config, streams, sections, what, m * k * n), a, b)


def _check(config: Config, m: int, k: int, n: int, what: str) -> None:
    kt, nt = ceil_div(k, config.rows), ceil_div(n, config.cols)
    for region, words in ((Region.ACT, m * kt), (Region.WGT, kt * nt), (Region.ACC, m * nt)):
        check_capacity(config, region, words, what)
