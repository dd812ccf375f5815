"""Compilation of a whole encoder, and its runs on a device."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine
from systolith.sw.compiler.allocate import CapacityError, with_advice
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.image import Place
from systolith.sw.compiler.parts import PARTS, count_commands
from systolith.sw.compiler.schedule import schedule
from systolith.sw.compiler.skipping import ZeroSkipper
from systolith.sw.compiler.tokens import check_tokens, with_tokens
from systolith.sw.compiler.verifier import verify
from systolith.sw.compiler.zero_tiles import useful_elements
from systolith.sw.encoder.lowering import EncoderLowering
from systolith.sw.encoder.plan import plan_encoder
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import QuantizedEncoder, embed
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device
from systolith.sw.runtime.program import Program


@dataclass(frozen=True)
class EmbeddingResult:
    """INT16 (d,), Q0.15, as the device and as the integer reference gave it."""

    output: NDArray[np.int16]
    expected: NDArray[np.int16]
    counters: Counters

    @property
    def bit_exact(self) -> bool:
        """Whether every output byte equals the integer reference."""
        return bool(np.array_equal(self.output, self.expected))


@dataclass(frozen=True)
class CompiledEncoder:
    """An encoder ready to run on texts of one length.

    Parameters
    ----------
    program : Program
        Its first ``length`` moves fetch the word of each position; :meth:`queues` puts those of
        a text in.
    model : QuantizedEncoder
    length, valid : int
        Positions, and how many of them are tokens.
    output : Place
        The embedding in external memory.
    """

    program: Program
    model: QuantizedEncoder
    length: int
    valid: int
    output: Place

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a run: no padding, no weight tiles of zeros."""
        return self.program.macs

    def load(self, device: Device) -> None:
        """Write weights and words to the device, once for all texts."""
        self.program.load(device)

    def queues(self, ids: Sequence[int]) -> dict[Engine, list[Command]]:
        """The commands of a run on the tokens ``ids``.

        Raises
        ------
        CompileError
            When their number is not the compiled one, or one is outside the vocabulary.
        """
        if len(ids) != self.valid:
            raise CompileError(f"the text has {len(ids)} tokens, but the encoder was compiled for "
                               f"{self.valid}")
        check_tokens(ids, self.model.vocabulary, self.program.model)
        return with_tokens(self.program.commands, ids)

    def run(self, device: Device, ids: Sequence[int],
            max_cycles: int = DEFAULT_MAX_CYCLES) -> EmbeddingResult:
        """Run on a device that :meth:`load` has prepared, and compare with the reference."""
        output, counters = self.embed(device, ids, max_cycles)
        return EmbeddingResult(output, embed(ids, self.model).astype(np.int16), counters)

    def embed(self, device: Device, ids: Sequence[int],
              max_cycles: int = DEFAULT_MAX_CYCLES) -> tuple[NDArray[np.int16], Counters]:
        """INT16 (d,), Q0.15, and the counters."""
        device.run(self.queues(ids))
        counters = device.wait(max_cycles)
        data = device.read(self.output.memory, self.output.offset, self.output.size)
        return np.frombuffer(data, "<i2")[:self.model.width].astype(np.int16), counters


def compile_encoder(model: QuantizedEncoder, config: Config, *, length: int,
                    valid: int | None = None, name: str = "encoder") -> CompiledEncoder:
    """Compile an encoder for texts of ``length`` positions.

    Parameters
    ----------
    valid : int, optional
        Positions that are tokens; the ones after them are padding that nothing depends on.

    Raises
    ------
    CompileError
        When it does not fit (with the memory, need, capacity and the nearest named configuration
        that fits) or a parameter is outside its limit.
    """
    valid = check_text(model, config, length, valid)
    what = f"{name} at length {length}"
    try:
        weights, parts = _lower(model, config, length, valid, what)
    except CapacityError as error:
        raise with_advice(error, lambda other: _lower(model, other, length, valid, what)) from None
    skipper = ZeroSkipper(config, weights.image.sections)
    parts = {name: list(skipper.skip(part)) for name, part in parts.items()}
    commands = [command for part in parts.values() for command in part]
    program = Program(config, schedule(commands, config), tuple(weights.image.sections), name,
                      count_macs(model, config, length, valid), {PARTS: count_commands(parts)})
    verify(config, program.commands)
    return CompiledEncoder(program, model, length, valid, weights.output)


def check_text(model: QuantizedEncoder, config: Config, length: int, valid: int | None) -> int:
    """How many of ``length`` positions are tokens: ``valid``, all for None.

    Raises
    ------
    CompileError
        When a parameter is outside its limit, or the configuration holds no encoder.
    """
    if not 1 <= length <= model.positions:
        raise CompileError(f"length must be from 1 to the model's {model.positions} positions, "
                           f"not {length}")
    valid = length if valid is None else valid
    if not 1 <= valid <= length:
        raise CompileError(f"valid must be from 1 to the length, {length}, not {valid}")
    if not config.ext_bytes:
        raise CompileError(f"configuration {config.name!r} has no external memory, out of which "
                           "an encoder's weights come; set ext_bytes")
    if config.tables < 2:
        raise CompileError(f"configuration {config.name!r} holds {config.tables} function table, "
                           "but an encoder needs 2: softmax and GELU")
    return valid


def _lower(model: QuantizedEncoder, config: Config, length: int, valid: int,
           what: str) -> tuple[WeightStream, dict[str, list[Command]]]:
    plan = plan_encoder(model, config, length, valid, what)
    weights = WeightStream(model, plan, config)
    parts = EncoderLowering(model, plan, weights, config).parts()
    weights.image.check(what)
    return weights, parts


def count_macs(model: QuantizedEncoder, config: Config, length: int, valid: int) -> int:
    """Useful multiply-accumulates: no padding, no weight tiles of zeros."""
    head, linear = model.head_dim, 0
    for layer in model.layers:
        linear += sum(useful_elements(each.weight, config, columns=head)
                      for each in (layer.q, layer.k, layer.v))
        linear += useful_elements(layer.out.weight, config, rows=head)
        linear += sum(useful_elements(part.weight, config)
                      for group in layer.groups for part in (group.up, group.down))
    scores = len(model.layers) * model.heads * length * valid * model.head_dim
    return length * linear + 2 * scores + valid * model.width
