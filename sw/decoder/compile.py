"""Compilation of a decoder for a chip of one core or of several."""
from collections.abc import Collection, Sequence

from systolith.hw.config import Config, ConfigError
from systolith.sw.compiler.allocate import CapacityError, with_advice
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.site import Site
from systolith.sw.decoder.choose import Choice, choose
from systolith.sw.decoder.compiled import CompiledDecoder
from systolith.sw.decoder.mesh import MeshDecoder
from systolith.sw.decoder.residents import longest_context
from systolith.sw.decoder.samples import calibration_samples
from systolith.sw.decoder.share import shares_of
from systolith.sw.models.model import Model
from systolith.sw.reference.quantized_decoder import QuantizedDecoder

#: How several cores share the work of a decoder: heads and columns of one text, or a text each
#: (:class:`SideBySideSession`, of a decoder that is compiled for a core alone). The first is the
#: default.
PLACEMENTS = ("columns", "texts")


def placement_of(name: str | None) -> str:
    """The placement of that name; the first for None.

    Raises
    ------
    ConfigError
        When there is none; the message lists those that exist.
    """
    chosen = name or PLACEMENTS[0]
    if chosen not in PLACEMENTS:
        raise ConfigError(f"a language model has no placement {chosen!r}; choose one of "
                          f"{', '.join(PLACEMENTS)}")
    return chosen


def compile_decoder(model: Model, config: Config, *, off: Collection[int] = (),
                    context: int | None = None,
                    samples: Sequence[Sequence[int]] | None = None,
                    percentile: float = 100.0) -> CompiledDecoder:
    """Calibrate, quantize and lay out a whole decoder.

    Parameters
    ----------
    model : Model
    config : Config
    off : collection of int
        Cores of a mesh that are switched off; the others share the decoder.
    context : int, optional
        Positions that the cache is to hold; by default the model's longest, or as many as there is
        room for.
    samples : sequence of token ids, optional
        Texts to calibrate on; by default the model's prompts, continued by the float model.
    percentile : float
        Part of the magnitudes of queries, keys and values that must fit INT8.

    Raises
    ------
    ConfigError
        When a core of ``off`` does not exist, or none is left.
    CompileError
        When it does not fit (with the memory, need, capacity and the nearest named configuration
        that fits) or a parameter is outside its limit.
    """
    if context is not None and not 1 <= context <= model.max_length:
        raise CompileError(f"context must be from 1 to {model.max_length}, the longest of "
                           f"{model.name}, not {context}")
    if not config.ext_bytes:
        raise CompileError(f"configuration {config.name!r} has no external memory, from which a "
                           "decoder looks its tokens up")
    if config.tables < 2:
        raise CompileError(f"configuration {config.name!r} has {config.tables} function table; a "
                           "decoder needs 2")
    site = Site.of(config, off)
    samples = calibration_samples(model) if samples is None else samples
    integers, choices = choose(model.weights, samples, percentile)
    if context is None:
        first = shares_of(integers, site.chip)[0].of(integers)
        context = longest_context(first, site.chip, model.max_length)
    try:
        return _laid_out(model.name, integers, site, context, choices)
    except CapacityError as error:
        raise with_advice(error, lambda other: _laid_out(
            model.name, integers, Site.of(other), context, choices)) from None


def _laid_out(name: str, model: QuantizedDecoder, site: Site, context: int,
              choices: tuple[Choice, ...]) -> CompiledDecoder:
    if site.config.cores == 1:
        return CompiledDecoder(name, model, site.config, context, choices)
    return MeshDecoder(name, model, site.chip, context, choices, site=site)
