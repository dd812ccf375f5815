"""Compilation of a decoder for a chip of one core or of several."""
from collections.abc import Sequence

from systolith.hw.config import Config
from systolith.sw.compiler.allocate import CapacityError, with_advice
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.vector_unit import check_vector_unit
from systolith.sw.decoder.choose import Choice, choose
from systolith.sw.decoder.compiled import CompiledDecoder
from systolith.sw.decoder.mesh import MeshDecoder
from systolith.sw.decoder.residents import longest_context
from systolith.sw.decoder.samples import calibration_samples
from systolith.sw.decoder.share import shares_of
from systolith.sw.models.model import Model
from systolith.sw.reference.quantized_decoder import QuantizedDecoder


def compile_decoder(model: Model, config: Config, *, context: int | None = None,
                    samples: Sequence[Sequence[int]] | None = None,
                    percentile: float = 100.0) -> CompiledDecoder:
    """Calibrate, quantize and lay out a whole decoder.

    Parameters
    ----------
    model : Model
    config : Config
    context : int, optional
        Positions that the cache is to hold; by default the model's longest, or as many as there is
        room for.
    samples : sequence of token ids, optional
        Texts to calibrate on; by default the model's prompts, continued by the float model.
    percentile : float
        Part of the magnitudes of queries, keys and values that must fit INT8.

    Raises
    ------
    CompileError
        When it does not fit (with the memory, need, capacity and the nearest named configuration
        that fits) or a parameter is outside its limit.
    """
    if context is not None and not 1 <= context <= model.max_length:
        raise CompileError(f"context must be from 1 to {model.max_length}, the longest of "
                           f"{model.name}, not {context}")
    check_vector_unit(config, model.name)
    if not config.ext_bytes:
        raise CompileError(f"configuration {config.name!r} has no external memory, from which a "
                           "decoder looks its tokens up")
    if config.tables < 2:
        raise CompileError(f"configuration {config.name!r} has {config.tables} function table; a "
                           "decoder needs 2")
    samples = calibration_samples(model) if samples is None else samples
    integers, choices = choose(model.weights, samples, percentile)
    if context is None:
        first = shares_of(integers, config)[0].of(integers)
        context = longest_context(first, config, model.max_length)
    try:
        return _laid_out(model.name, integers, config, context, choices)
    except CapacityError as error:
        raise with_advice(error, lambda other: _laid_out(
            model.name, integers, other, context, choices)) from None


def _laid_out(name: str, model: QuantizedDecoder, config: Config, context: int,
              choices: tuple[Choice, ...]) -> CompiledDecoder:
    kind = CompiledDecoder if config.cores == 1 else MeshDecoder
    return kind(name, model, config, context, choices)
