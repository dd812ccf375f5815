"""``systolith estimate``: cycles of a model out of the cycle model, without the RTL."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from systolith.hw.config import Config, check_one_core
from systolith.hw.configs import get_config
from systolith.sim.commands.complete import model_of
from systolith.sim.commands.run import layer_indices
from systolith.sim.measure import Measure, total
from systolith.sim.programs import attention_program, prefill_programs, step_program
from systolith.sim.progress import Progress
from systolith.sim.text import number, percent, print_facts, print_table
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.parts import products_by_layer
from systolith.sw.decoder import compile_decoder
from systolith.sw.encoder import compile_encoder
from systolith.sw.encoder.session import quantized_encoder
from systolith.sw.estimate import Estimate, ExternalMemory, estimate, external_memory
from systolith.sw.models import Model, ModelError, load_model
from systolith.sw.models.bert import Encoder
from systolith.sw.models.encoders import ENCODERS, load_encoder
from systolith.sw.runtime.program import Program


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for. ``layer`` is an index, ``"all"``, or None for the whole
    model; ``length`` or ``prompt`` or neither is given."""

    model: str
    layer: int | str | None
    length: int | None
    prompt: str | None
    config: str
    external: ExternalMemory
    mhz: float


def external(memory: str, config: str, latency: int | None,
             bytes_per_cycle: float | None) -> ExternalMemory:
    """A memory by name, with what was said otherwise.

    Raises
    ------
    ConfigError
        When there is no such memory or configuration, or a number is outside its limit.
    """
    named = external_memory(memory, get_config(config))
    return replace(
        named, latency=named.latency if latency is None else latency,
        bytes_per_cycle=named.bytes_per_cycle if bytes_per_cycle is None else bytes_per_cycle)


@dataclass(frozen=True)
class Part:
    """A part of a model's work in the cycle model: one program or several in turn.

    ``tokens`` are the positions that it processes, ``parts`` cycles by part of the model.
    """

    name: str
    tokens: int
    programs: Sequence[Program]
    estimates: Sequence[Estimate]
    parts: dict[str, int]

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates."""
        return sum(program.macs for program in self.programs)

    @property
    def measure(self) -> Measure:
        """Cycles and work."""
        config = self.estimates[0].config
        measures = [Measure(config, 0, each.counters) for each in self.estimates]
        return Measure(config, self.macs, total(measures).counters)

    @property
    def limits(self) -> dict[str, int]:
        """Least cycles of each resource."""
        return {name: sum(each.work.limits[name] for each in self.estimates)
                for name in self.estimates[0].work.limits}

    @property
    def bound(self) -> str:
        """The resource that needs the most."""
        return max(self.limits, key=lambda name: self.limits[name])

    @property
    def of_limit(self) -> float:
        """The bound's least cycles as a part of all."""
        return self.limits[self.bound] / self.measure.counters.cycles

    def tokens_per_second(self, mhz: float) -> float:
        """At that clock."""
        return self.tokens * mhz * 1e6 / self.measure.counters.cycles

    def as_json(self, mhz: float) -> dict[str, object]:
        """The values under their stable keys."""
        return {"name": self.name, "tokens": self.tokens, **self.measure.as_json(),
                "bound": self.bound, "limits": self.limits,
                "percent_of_limit": round(100 * self.of_limit, 3),
                "tokens_per_second": round(self.tokens_per_second(mhz), 3), "parts": self.parts}


@dataclass(frozen=True)
class Estimated:
    """All that was asked for."""

    request: Request
    config: Config
    name: str
    parts: tuple[Part, ...]

    def as_json(self) -> dict[str, object]:
        """The report under its stable keys."""
        external = self.request.external
        return {"model": self.name, "config": self.config.name, "ext_latency": external.latency,
                "ext_bytes_per_cycle": external.rate(self.config), "mhz": self.request.mhz,
                "runs": [part.as_json(self.request.mhz) for part in self.parts]}


def run(request: Request, *, progress: Progress) -> Estimated:
    """Compile what was asked for and play it.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When the request cannot be met.
    """
    config = get_config(request.config)
    check_one_core(config, "the cycle model")
    whole = _encoder if request.model in ENCODERS else _decoder
    chosen = whole if request.layer is None else _layers
    name, parts = chosen(request, config, progress)
    return Estimated(request, config, name, tuple(parts))


def _part(name: str, tokens: int, programs: Sequence[Program], request: Request,
          progress: Progress) -> Part:
    with progress.stage(f"estimate {name}"):
        estimates = [estimate(program.config, program.commands, request.external)
                     for program in programs]
    parts: dict[str, int] = {}
    for program, each in zip(programs, estimates, strict=True):
        for part, cycles in each.parts(products_by_layer(program)).items():
            parts[part] = parts.get(part, 0) + cycles
    return Part(name, tokens, programs, estimates, parts)


def _layers(request: Request, config: Config, progress: Progress) -> tuple[str, Iterator[Part]]:
    assert request.layer is not None
    if request.model in ENCODERS:
        raise ModelError(f"{request.model} is a sentence encoder, of which only the whole model is "
                         "estimated: leave --layer out")
    model = load_model(model_of(request.model, request.prompt))
    length = length_of(request, model, model.default_prompt)

    def parts() -> Iterator[Part]:
        for index in layer_indices(model, request.layer):
            with progress.stage(f"compile layer {index}"):
                program = attention_program(model, index, length, config)
            yield _part(f"attention of layer {index}", length, [program], request, progress)

    return model.name, parts()


def _decoder(request: Request, config: Config, progress: Progress) -> tuple[str, Iterator[Part]]:
    model = load_model(model_of(request.model, request.prompt))
    length = length_of(request, model, model.default_prompt)
    with progress.stage("quantize"):
        decoder = compile_decoder(model, config)

    def parts() -> Iterator[Part]:
        with progress.stage("compile"):
            prefill = list(prefill_programs(decoder, length))
        yield _part(f"prefill of {length}", length, prefill, request, progress)
        if length < decoder.context:
            with progress.stage("compile"):
                step = step_program(decoder, length)
            yield _part(f"one token at context {length}", 1, [step], request, progress)

    return model.name, parts()


def _encoder(request: Request, config: Config, progress: Progress) -> tuple[str, Iterator[Part]]:
    with progress.stage("load model"):
        encoder = load_encoder(request.model)
    length = length_of(request, encoder, encoder.samples[0])
    with progress.stage("quantize"):
        model = quantized_encoder(encoder)
    with progress.stage("compile"):
        program = compile_encoder(model, config, length=length, name=encoder.name).program

    def parts() -> Iterator[Part]:
        yield _part(f"text of {length}", length, [program], request, progress)

    return encoder.name, parts()


def length_of(request: Request, model: Model | Encoder, default: str) -> int:
    """Positions that were asked for: a length, or those of the prompt.

    Raises
    ------
    CompileError
        When the model takes fewer.
    """
    if request.length is None:
        return len(model.encode(default if request.prompt is None else request.prompt))
    if request.length > model.max_length:
        raise CompileError(f"the length is {request.length}, but {model.name} takes at most "
                           f"{model.max_length} positions")
    return request.length


def print_estimated(done: Estimated) -> None:
    """Cycles, what bounds them, and where in the model they go."""
    config, request = done.config, done.request
    external = request.external
    print_facts([
        ("Model", done.name),
        ("Configuration", f"{config.name}: {config.rows} x {config.cols} cells, "
                          f"{number(config.peak_macs_per_cycle)} MACs a cycle"),
        ("External", f"{external.rate(config):g} bytes a cycle, latency {external.latency}"),
        ("Clock", f"{request.mhz:g} MHz, for tokens a second only"),
        ("Source", "the cycle model; `systolith bench` measures on the RTL")])
    print_table(
        ("run", "cycles", "of peak", "bound by", "of that limit", "tokens/s"),
        ([part.name, number(part.measure.cycles), percent(part.measure.utilization), part.bound,
          percent(part.of_limit), f"{part.tokens_per_second(request.mhz):,.0f}"]
         for part in done.parts))
    for part in done.parts:
        if part.parts:
            print_table((part.name, "cycles", "of all"),
                        ([name, number(cycles), percent(cycles / (part.measure.cycles or 1))]
                         for name, cycles in part.parts.items()))
