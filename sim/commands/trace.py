"""``systolith trace MODEL``: what every engine does in every cycle, as timeline and waveform."""
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from systolith.hw.config import Config, check_one_core
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine
from systolith.sim.attention import prepare_layer
from systolith.sim.benchmarks import BENCHMARKS
from systolith.sim.commands.complete import model_of
from systolith.sim.lost import CAUSES, lost_cycles
from systolith.sim.measure import Measure
from systolith.sim.progress import Progress
from systolith.sim.rtl import RtlDevice
from systolith.sim.text import number, percent, print_facts, print_table
from systolith.sim.timeline import write_timeline
from systolith.sim.trace import Trace
from systolith.sim.wave import write_views
from systolith.sw.compiler.parts import names
from systolith.sw.decoder import Session, StepResult, compile_decoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.encoder import compile_encoder, quantized_encoder
from systolith.sw.models import ModelError, load_model
from systolith.sw.models.encoders import ENCODERS, load_encoder
from systolith.sw.runtime.program import Program

#: Cycles of a waveform whose end is not given.
WAVE_CYCLES = 10_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for; ``layer`` None stands for the whole model."""

    model: str
    layer: int | None
    prompt: str | None
    tokens: int
    config: str
    max_cycles: int
    stall: int
    seed: int
    start: int
    end: int | None
    wave: Path | None

    @property
    def wave_end(self) -> int:
        """Where the waveform ends: it is large, so without a wish it is short."""
        return self.start + WAVE_CYCLES if self.end is None else self.end


@dataclass(frozen=True)
class Work:
    """What ran: its name, its useful multiply-accumulates, and the part of the model of each
    command where the compiler names them."""

    name: str
    macs: int
    parts: Mapping[Engine, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, programs: Sequence[Program]) -> "Work":
        """Of programs that ran one after the other."""
        parts = {engine: tuple(chain.from_iterable(names(program, engine) for program in programs))
                 for engine in ENGINES}
        return cls(name, sum(program.macs for program in programs), parts)


@dataclass(frozen=True)
class Traced:
    """A recording and what it is of."""

    request: Request
    work: Work
    trace: Trace
    views: Sequence[Path]

    @property
    def measure(self) -> Measure:
        """Cycles and work."""
        return Measure(self.trace.config, self.work.macs, self.trace.counters())

    @property
    def lost(self) -> dict[str, float]:
        """Cycles lost by cause, see :mod:`systolith.sim.lost`."""
        return lost_cycles(self.trace, self.work.macs)

    @property
    def stages(self) -> dict[Engine, Sequence[str]]:
        """The part of the model of each command; what ran, where none is named."""
        return {engine: self.work.parts.get(engine) or [self.work.name] * len(commands)
                for engine, commands in self.trace.program.items()}

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"model": self.work.name, "layer": self.request.layer,
                "config": self.trace.config.name, "runs": len(self.trace.runs),
                **self.measure.as_json(), "lost": self.lost}


def record(request: Request, *, progress: Progress) -> Traced:
    """Compile and run on the RTL, with everything recorded but the loading of weights.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When the request cannot be met.
    DeviceError, StuckError, ToolchainError, HarnessError
        When the device fails or the waveform cannot be written.
    """
    config = get_config(request.config)
    check_one_core(config, "a trace")
    with progress.stage("compile"):
        prepare = _prepare(request, config)
    with RtlDevice(config, stall_percent=request.stall, seed=request.seed,
                   trace=request.wave is not None, progress=progress) as device:
        with progress.stage("prepare"):
            run = prepare(device)
        with device.record() as recorder, progress.stage("run and record"):
            if request.wave:
                device.trace(request.wave, request.start, request.wave_end)
            work = run()
            trace = recorder.trace()
            device.harness.trace_close()
    shown = min(request.wave_end, trace.cycles) - request.start
    views = write_views(request.wave, shown) if request.wave else ()
    return Traced(request, work, trace, views)


#: Loads what a model needs into a device; the result runs it.
Prepare = Callable[[RtlDevice], Callable[[], Work]]


def _prepare(request: Request, config: Config) -> Prepare:
    if request.model in BENCHMARKS:
        return _benchmark(request)
    if request.layer is not None:
        return _layer(request, request.layer, config)
    if request.model in ENCODERS:
        return _encoder(request)
    return _decoder(request, config)


def _benchmark(request: Request) -> Prepare:
    if request.layer is not None or request.prompt is not None or request.tokens != 1:
        raise ModelError(f"{request.model} is a benchmark, which says itself what runs: leave out "
                         "--layer, --prompt and --tokens")

    def prepare(device: RtlDevice) -> Callable[[], Work]:
        measured = BENCHMARKS[request.model].prepare(device)
        return lambda: Work(request.model, measured().macs)
    return prepare


def _layer(request: Request, index: int, config: Config) -> Prepare:
    model = load_model(model_of(request.model, request.prompt))
    ids = model.encode(model.default_prompt if request.prompt is None else request.prompt)
    layer = prepare_layer(model, index, ids, config)

    def prepare(device: RtlDevice) -> Callable[[], Work]:
        def run() -> Work:
            layer.compiled.run(device, layer.x, layer.h, request.max_cycles)
            return Work.of(model.name, [layer.compiled.program])
        return run
    return prepare


def _encoder(request: Request) -> Prepare:
    encoder = load_encoder(request.model)
    ids = encoder.encode(request.prompt or encoder.samples[0])

    def prepare(device: RtlDevice) -> Callable[[], Work]:
        compiled = compile_encoder(quantized_encoder(encoder), device.config, length=len(ids),
                                   name=encoder.name)
        compiled.load(device)

        def run() -> Work:
            compiled.embed(device, ids, request.max_cycles)
            return Work.of(encoder.name, [compiled.program])
        return run
    return prepare


def _decoder(request: Request, config: Config) -> Prepare:
    model = load_model(model_of(request.model, request.prompt))
    ids = model.encode(model.default_prompt if request.prompt is None else request.prompt)
    compiled = compile_decoder(model, config)

    def prepare(device: RtlDevice) -> Callable[[], Work]:
        session = Session(compiled, device, max_cycles=request.max_cycles)

        def run() -> Work:
            results = [session.prefill(ids)]
            while len(results) < request.tokens:
                results.append(session.step(results[-1].token))
            return Work.of(model.name, list(_programs(session, results)))
        return run
    return prepare


def _programs(session: Session, results: Sequence[StepResult]) -> Iterator[Program]:
    """The program of each run: a long prompt takes several."""
    most = session.compiled.most_rows
    for result in results:
        end = result.position + result.length
        for position in range(result.position, end, most):
            yield session.compiled.run(Shape(min(most, end - position), position)).program


def write(traced: Traced, timeline: Path | None, report: Path | None, progress: Progress) -> None:
    """Write the files that were asked for, and tell what each is."""
    start, end, stages = traced.request.start, traced.request.end, traced.stages
    if timeline:
        with progress.stage("timeline"):
            count = write_timeline(traced.trace, stages, timeline, start, end)
        progress.note(f"{timeline}: {count:,} events; open it on https://ui.perfetto.dev")
    if report:
        # Imported only here: it needs matplotlib.
        from systolith.sim.report_page import write_report

        with progress.stage("report"):
            write_report(traced.trace, stages, traced.work.macs, traced.work.name, report)
        progress.note(f"{report}: open it in a browser")
    if traced.request.wave:
        progress.note(f"{traced.request.wave}: " + "; ".join(
            f"{tool} {path}" for tool, path in zip(
                ("gtkwave", f"surfer {traced.request.wave} --command-file"), traced.views,
                strict=True)))


def print_traced(traced: Traced) -> None:
    """What ran, where the cycles went."""
    trace, measure = traced.trace, traced.measure
    print_facts([("Model", traced.work.name), ("Configuration", trace.config.name),
                 ("Cycles", f"{number(trace.cycles)} in {len(trace.runs)} runs; "
                            f"{percent(measure.utilization)} of the array's peak")])
    rows = [(CAUSES[cause], number(round(cycles)), percent(cycles / trace.cycles))
            for cause, cycles in traced.lost.items()]
    rows.append(("useful", number(round(trace.cycles - sum(traced.lost.values()))),
                 percent(measure.utilization)))
    print_table(("where the array's cycles went", "cycles", "of all"), rows)
