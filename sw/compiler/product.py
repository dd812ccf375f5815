"""Matrix products by themselves: for benchmarks and tests of the array."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from systolith.hw.config import Config
from systolith.hw.isa import Output
from systolith.sw.compiler.allocate import Buffer, CapacityError, with_advice
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.image import Image, Place
from systolith.sw.compiler.layout import (
    activation_words,
    from_activation_words,
    from_vector_words,
)
from systolith.sw.compiler.product_lowering import ProductLowering
from systolith.sw.compiler.product_plan import ProductPlan, ProductShape, plan_product
from systolith.sw.compiler.quantize import INT8_MAX, INT16_MAX, scale_word_of
from systolith.sw.compiler.schedule import schedule
from systolith.sw.compiler.verifier import verify
from systolith.sw.reference import numerics
from systolith.sw.reference.attention import narrowed
from systolith.sw.reference.numerics import Ints
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device
from systolith.sw.runtime.program import Program, Section


@dataclass(frozen=True)
class ProductResult:
    """(batch * m, n) read back and as the reference has it: INT8, or INT16 where it is stored."""

    output: NDArray[np.signedinteger]
    expected: NDArray[np.signedinteger]
    counters: Counters

    @property
    def bit_exact(self) -> bool:
        """Whether every output byte equals the reference."""
        return bool(np.array_equal(self.output, self.expected))


@dataclass(frozen=True)
class CompiledProduct:
    """``requantize(a @ b)``, ``batch`` times.

    Parameters
    ----------
    program : Program
    plan : ProductPlan
    a : (batch, m, k) INT8
    b : (batch, k, n) INT8
    word : int
        Scale word of the results.
    output : Place
    """

    program: Program
    plan: ProductPlan
    a: Ints
    b: Ints
    word: int
    output: Place

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a run: no padding, and no weight tiles of zeros."""
        return self.program.macs

    @property
    def moved(self) -> tuple[str, ...]:
        """Which of ``a``, ``b`` and ``result`` go through external memory."""
        plan = self.plan
        return tuple(name for name, moves in (
            ("a", plan.moves_a), ("b", plan.moves_b), ("result", plan.moves_out)) if moves)

    def run(self, device: Device, max_cycles: int = DEFAULT_MAX_CYCLES) -> ProductResult:
        """Load, run, read back and compare."""
        self.program.load(device)
        device.run(self.program.commands)
        counters = device.wait(max_cycles)
        data = device.read(self.output.memory, self.output.offset, self.output.size)
        return ProductResult(self._result(data), self._expected(), counters)

    def _result(self, data: bytes) -> NDArray[np.signedinteger]:
        shape, config = self.plan.shape, self.program.config
        unpack = from_vector_words if self.plan.moves_out else from_activation_words
        return unpack(data, config, shape.batch * shape.m, shape.n)

    def _expected(self) -> NDArray[np.signedinteger]:
        sums = [numerics.scale(numerics.matmul(a, b), self.word)
                for a, b in zip(self.a, self.b, strict=True)]
        if self.plan.moves_out:
            return narrowed(np.concatenate(sums), Output.INT16).astype(np.int16)
        return narrowed(np.concatenate(sums), Output.INT8).astype(np.int8)


def compile_product(config: Config, *, m: int, k: int, n: int, batch: int = 1,
                    resident: bool = True, weight: ArrayLike | None = None, seed: int = 0
                    ) -> CompiledProduct:
    """A product of random INT8 operands, requantized by one factor: to INT8 in activation memory
    where the result stays in the core, to INT16 through vector memory where it leaves.

    Blocks of rows are multiplied by all weights, and are drained, and moved, under the products of
    others. Weight tiles of zeros are neither moved nor multiplied.

    Parameters
    ----------
    config : Config
    m, k, n : int
        (m, k) times (k, n).
    batch : int
        So many products, each with operands of its own.
    resident : bool
        Operands are in the core when the run starts and the result stays there. What of ``a`` and
        of the result does not fit beside the weights goes through external memory. Otherwise all
        three do.
    weight : (k, n) or (batch, k, n) INT8, optional
        The right operand, for example a pruned one.
    seed : int
        Of the random operands.

    Raises
    ------
    CompileError
        When a size is no positive number, something does not fit, or there is no external memory
        to move from.
    """
    for name, value in (("m", m), ("k", k), ("n", n), ("batch", batch)):
        if not 1 <= value <= 65535:
            raise CompileError(f"{name} must be from 1 to 65535, not {value}")
    what = f"a product {m}x{k}x{n}" if batch == 1 else f"{batch} products {m}x{k}x{n}"
    if not resident and not config.ext_bytes:
        raise CompileError(f"configuration {config.name!r} has no external memory to load operands "
                           "from; use resident operands, or set ext_bytes")
    rng = np.random.default_rng(seed)
    a = rng.integers(-128, 128, (batch, m, k))
    b = rng.integers(-128, 128, (batch, k, n)) if weight is None else _weight(weight, batch, k, n)

    def planned(other: Config) -> ProductPlan:
        return plan_product(other, ProductShape.of(other, m, k, n, batch), b, resident=resident,
                            what=what)
    try:
        plan = planned(config)
    except CapacityError as error:
        raise with_advice(error, planned) from None
    return _compile(config, plan, a, b, what)


def _weight(weight: ArrayLike, batch: int, k: int, n: int) -> Ints:
    values = numerics.as_ints(weight)
    if values.shape not in ((k, n), (batch, k, n)):
        raise CompileError(f"the weight has shape {values.shape}, not {(k, n)}")
    return np.broadcast_to(values, (batch, k, n))


def _compile(config: Config, plan: ProductPlan, a: Ints, b: Ints, what: str) -> CompiledProduct:
    # Three standard deviations of a sum are the range of the result.
    largest = INT16_MAX if plan.moves_out else INT8_MAX
    word = int(scale_word_of(largest / (3 * 128 * 128 / 3 * np.sqrt(plan.shape.k))))
    image, total = Image(config), plan.shape.batch * plan.shape.m
    sections: list[Section] = []
    a_place = _operand(image, sections, "a", plan.a, plan.moves_a,
                       activation_words(a.reshape(total, -1), config))
    b_places = tuple(
        _operand(image, sections, f"b{item}", buffer, plan.moves_b, weights.data)
        for item, (buffer, weights) in enumerate(zip(plan.b, plan.weights, strict=True)))
    out = _place(image, plan.out, plan.moves_out, total * plan.out_words)
    image.check(what)
    lowering = ProductLowering(plan, image, a_place, b_places, out, word, config)
    streams = schedule(list(lowering.commands()), config)
    verify(config, streams)
    program = Program(config, streams, tuple(sections), what, plan.macs)
    return CompiledProduct(program, plan, a, b, word, out)


def _operand(image: Image, sections: list[Section], name: str, buffer: Buffer, moved: bool,
             data: bytes) -> Place:
    """The place of an operand, whose bytes become a section."""
    place = _place(image, buffer, moved, len(data) // image.config.word_bytes(buffer.region))
    sections.append(Section(name, place.memory, place.offset, data))
    return place


def _place(image: Image, buffer: Buffer, moved: bool, words: int) -> Place:
    """All ``words`` words in external memory where they are moved, else in their buffer."""
    if moved:
        return image.place(Buffer(buffer.region, 0, words))
    size = image.config.word_bytes(buffer.region)
    return Place(buffer.region, buffer.base * size, words * size)


