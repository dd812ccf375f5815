"""``systolith place MODEL``: what each core of a machine does, holds, loads and sends."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import MEMORIES, Config, ConfigError, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine
from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.route import STEPS, Port
from systolith.sim.candidates import candidates_as_json, print_candidates
from systolith.sim.commands.complete import model_of
from systolith.sim.mesh.routes import link_loads, target
from systolith.sim.progress import Progress
from systolith.sim.text import cores_and_cells, number, percent, print_facts, print_table
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.site import Duty, Site
from systolith.sw.compiler.survey import CoreSurvey, packets, survey
from systolith.sw.decoder import MeshDecoder, compile_decoder
from systolith.sw.decoder.compile import placement_of
from systolith.sw.decoder.compiled import Shape
from systolith.sw.encoder import compile_encoder, quantized_encoder
from systolith.sw.encoder import placement as encoders
from systolith.sw.encoder.automatic import Candidate, candidates, fastest
from systolith.sw.models import load_model
from systolith.sw.models.encoders import ENCODERS, load_encoder
from systolith.sw.runtime.mesh_program import MeshProgram

#: Tokens of an encoder's text, and before the one that a decoder decodes, where nobody says.
ENCODER_LENGTH, DECODER_LENGTH = 128, 100


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for."""

    model: str
    config: str
    length: int | None
    placement: str | None
    without: Sequence[int]
    teams: int | None = None


@dataclass(frozen=True)
class Link:
    """What one direction of a link carries in a run."""

    source: int
    target: int
    beats: int


@dataclass(frozen=True)
class Placed:
    """A model on the cores of a machine."""

    model: str
    work: str
    site: Site
    placement: str | None
    duties: Sequence[Duty]
    cores: Sequence[CoreSurvey]
    beats: NDArray[np.float64]
    #: What the placement was chosen among, by the cycle model; where it was.
    candidates: Sequence[Candidate] = ()

    @property
    def config(self) -> Config:
        """Of the machine."""
        return self.site.config

    @property
    def idle(self) -> tuple[int, ...]:
        """Cores that are on and have nothing to do."""
        return self.site.idle(self.duties)

    def state(self, core: int) -> str:
        """How a core is named beside its number, if it does nothing."""
        if core not in self.site.cores:
            return "off"
        return "idle" if core in self.idle else ""

    @property
    def links(self) -> list[Link]:
        """Both directions of all links, core by core."""
        return list(_links(self.config, self.beats))

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"model": self.model, "work": self.work, "config": self.config.name,
                "placement": self.placement, "cores": [
                    {"core": core, "x": core % self.config.mesh_width,
                     "y": core // self.config.mesh_width, "on": core in self.site.cores,
                     "does": {name: list(span) for name, span in duty.items()},
                     "commands": {engine.name: count for engine, count in each.commands.items()},
                     "array_beats": each.array_beats,
                     "kept_bytes": _named(each.kept), "loaded_bytes": _named(each.loaded),
                     "received_bytes": _named(each.received), "stored_bytes": each.stored,
                     "sent_bytes": each.sent, "used": _named(each.used)}
                    for core, (duty, each) in enumerate(
                        zip(self.duties, self.cores, strict=True))],
                "candidates": candidates_as_json(self.candidates),
                "links": [{"from": link.source, "to": link.target, "beats": link.beats}
                          for link in self.links]}


def _named(by_region: Mapping[Region, float]) -> dict[str, float]:
    return {region.name: value for region, value in by_region.items()}


def _links(config: Config, beats: NDArray[np.float64]) -> Iterator[Link]:
    for core in range(config.cores):
        y, x = divmod(core, config.mesh_width)
        for port, (dx, dy) in STEPS.items():
            if 0 <= x + dx < config.mesh_width and 0 <= y + dy < config.mesh_height:
                yield Link(core, (y + dy) * config.mesh_width + x + dx, int(beats[core, port]))


def place(request: Request, *, progress: Progress) -> Placed:
    """Compile a model and see what is where.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When the request cannot be met.
    """
    site = Site.of(get_config(request.config), request.without)
    chosen = _encoder if request.model in ENCODERS else _decoder
    return chosen(request, site, progress)


def _encoder(request: Request, site: Site, progress: Progress) -> Placed:
    encoders.check_placement(site, request.placement)
    encoders.check_teams(request.placement, request.teams)
    with progress.stage("load model"):
        encoder = load_encoder(request.model)
    length = request.length or min(ENCODER_LENGTH, encoder.max_length)
    with progress.stage("quantize"):
        model = quantized_encoder(encoder)
    placement, found = request.placement, list[Candidate]()
    if placement == encoders.AUTO:
        with progress.stage("estimate all placements"):
            found = candidates(model, site, length=length, name=encoder.name)
        placement = fastest(found).placement
    with progress.stage("compile"):
        if site.config.cores == 1:
            alone = compile_encoder(model, site.config, length=length, name=encoder.name)
            program, setup = site.everywhere(alone.program), None
            duties: list[Duty] = [{"layers": (0, len(model.layers)), "positions": (0, length)}]
        else:
            compiled = encoders.compile_encoder_placed(
                model, site, length=length, name=encoder.name, placement=placement,
                teams=request.teams)
            program, setup = compiled.program, compiled.setup
            duties = compiled.duties()
    placed = _placed(encoder.name, f"a text of {length} tokens", site, placement, duties,
                     program, setup, progress)
    return replace(placed, candidates=found)


def _decoder(request: Request, site: Site, progress: Progress) -> Placed:
    texts = placement_of(request.placement) == "texts"
    if request.teams is not None:
        raise ConfigError(f"a number of teams, {request.teams}, is for sentence encoders alone; "
                          "leave it out for a language model")
    model = load_model(model_of(request.model, None))
    with progress.stage("compile"):
        compiled = compile_decoder(model, site.config.core if texts else site.config,
                                   off=() if texts else request.without)
        length = request.length or min(DECODER_LENGTH, compiled.context - 1)
        if length >= compiled.context:
            raise CompileError(f"length must be at most {compiled.context - 1}, one less than the "
                               f"context of {model.name} on {site.config.name!r}, not {length}")
        programs = compiled.setup, compiled.run(Shape(1, length)).program
        setup, program = (each if isinstance(each, MeshProgram) else site.everywhere(each)
                          for each in programs)
    layers = 0, len(compiled.model.layers)
    duties: list[Duty] = [{} for _ in range(site.config.cores)]
    for text, core in enumerate(site.cores):
        duties[core] = {"layers": layers} | ({"texts": (text, text + 1)} if texts else {})
    if isinstance(compiled, MeshDecoder):
        duties = compiled.duties()
    return _placed(model.name, f"a token after {length} others", site, request.placement, duties,
                   program, setup, progress)


def _placed(model: str, work: str, site: Site, placement: str | None, duties: Sequence[Duty],
            program: MeshProgram, setup: MeshProgram | None, progress: Progress) -> Placed:
    with progress.stage("read the programs"):
        off = set(range(site.config.cores)) - set(site.cores)
        cores = survey(program, setup, off)
        sent = packets(program)
        mesh = MeshConfig.of(site.config)
        beats = link_loads(mesh, [each.source for each in sent], [
            target(each.command.x_first, each.command.x_last, each.command.y_first,
                   each.command.y_last) for each in sent], [each.count for each in sent]
            ) if sent else np.zeros((mesh.nodes, len(Port)))
    return Placed(model, work, site, placement, duties, cores, beats)


def print_placed(placed: Placed) -> None:
    """What each core does, its memories, and the links."""
    config, names = placed.config, _names(placed.duties)
    off = set(range(config.cores)) - set(placed.site.cores)
    print_facts([("Model", f"{placed.model}, {placed.work}"),
                 ("Configuration", cores_and_cells(config, off)),
                 ("Bytes", "kept: in the core before a run; loaded: out of external memory in a "
                           "run; received, sent: by the mesh in a run")])
    print_candidates(placed.candidates)
    print_table(("core", *names, "array beats", "kept", "loaded", "received", "sent"), (
        (_core(placed, core), *(_span(duty.get(name)) for name in names),
         number(each.array_beats), *(number(count) for count in (
             sum(each.kept.values()), sum(each.loaded.values()), sum(each.received.values()),
             each.sent)))
        for core, (duty, each) in enumerate(zip(placed.duties, placed.cores, strict=True))))
    print_table(("memory used", *(region.name for region in MEMORIES)), (
        (_core(placed, core), *(percent(each.used[region]) for region in MEMORIES))
        for core, each in enumerate(placed.cores)))
    if placed.links:
        print_table(("link", "beats"), ((f"{link.source} to {link.target}", number(link.beats))
                                        for link in placed.links))


def _names(duties: Sequence[Duty]) -> list[str]:
    return list(dict.fromkeys(name for duty in duties for name in duty))


def _core(placed: Placed, core: int) -> str:
    y, x = divmod(core, placed.config.mesh_width)
    return f"{core} (x {x}, y {y}) {placed.state(core)}".rstrip()


def _span(span: tuple[int, int] | None) -> str:
    """The things from the first to the last, both included."""
    if span is None or span[0] == span[1]:
        return "-"
    first, last = span[0], span[1] - 1
    return f"{first}" if first == last else f"{first} to {last}"


def plot(placed: Placed, path: Path) -> None:
    """The mesh as a picture."""
    from systolith.sim.mesh.place_picture import write_place

    texts = [_box(placed, core) for core in range(placed.config.cores)]
    on = [core in placed.site.cores for core in range(placed.config.cores)]
    write_place(MeshConfig.of(placed.config), texts, on, placed.beats, path,
                f"{placed.model} on {placed.config.name}: {placed.work}")


def _box(placed: Placed, core: int) -> str:
    each, duty = placed.cores[core], placed.duties[core]
    if placed.state(core):
        return f"core {core}\n{placed.state(core)}"
    return "\n".join([
        f"core {core}", *(f"{name} {_span(span)}" for name, span in duty.items()),
        f"{number(each.array_beats)} beats, {number(each.commands[Engine.MATRIX])} products",
        f"keeps {number(sum(each.kept.values()))} bytes",
        f"loads {number(sum(each.loaded.values()))} bytes",
        f"weight memory {percent(each.used[Region.WGT])}"])
