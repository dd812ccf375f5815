"""Programs of the models, compiled but bound to no input: for what depends on no data."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.sim.attention import prepare_layer
from systolith.sim.benchmarks.models import tokens
from systolith.sw.decoder import CompiledDecoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.models import Model
from systolith.sw.runtime.program import Program


def attention_program(model: Model, layer: int, length: int, config: Config) -> Program:
    """Attention of a layer on ``length`` positions; errors as of :func:`prepare_layer`."""
    return prepare_layer(model, layer, tokens(model, length), config).compiled.program


def prefill_programs(decoder: CompiledDecoder, length: int) -> Iterator[Program]:
    """The runs that add ``length`` positions to an empty cache, as a session makes them."""
    for position in range(0, length, decoder.most_rows):
        yield decoder.run(Shape(min(decoder.most_rows, length - position), position)).program


def step_program(decoder: CompiledDecoder, context: int) -> Program:
    """The run that adds one position to ``context`` others."""
    return decoder.run(Shape(1, context)).program
