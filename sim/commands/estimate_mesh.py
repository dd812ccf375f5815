"""``systolith estimate`` on a mesh: the placements of a model side by side, without the RTL."""
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.hw.config import Config, ConfigError
from systolith.hw.configs import get_config
from systolith.sim.candidates import print_candidates
from systolith.sim.commands.complete import model_of
from systolith.sim.commands.estimate import Request, length_of
from systolith.sim.programs import step_program
from systolith.sim.progress import Progress
from systolith.sim.text import cores_and_cells, number, percent, print_facts, print_table
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.site import Site
from systolith.sw.decoder import compile_decoder
from systolith.sw.encoder.automatic import Candidate, candidates, fastest
from systolith.sw.encoder.session import quantized_encoder
from systolith.sw.estimate import MeshEstimate, estimate_mesh
from systolith.sw.models import Model, load_model
from systolith.sw.models.encoders import ENCODERS, load_encoder
from systolith.sw.runtime.mesh_program import MeshProgram


@dataclass(frozen=True)
class Estimated:
    """The placements of a model; ``work`` is what each of them runs."""

    request: Request
    config: Config
    name: str
    work: str
    candidates: Sequence[Candidate]

    @property
    def fastest(self) -> Candidate:
        """For very many texts."""
        return fastest(self.candidates)

    def texts_per_second(self, candidate: Candidate) -> float:
        """Texts, or tokens of a language model, at the clock that was asked for."""
        return self.request.mhz * 1e6 / candidate.cycles_per_text

    def as_json(self) -> dict[str, object]:
        """The report under its stable keys."""
        external = self.request.external
        return {"model": self.name, "config": self.config.name, "work": self.work,
                "ext_latency": external.latency, "mhz": self.request.mhz,
                "ext_bytes_per_cycle": external.rate(self.config),
                "fastest": self.fastest.placement,
                "placements": [self._placement(each) for each in self.candidates]}

    def _placement(self, candidate: Candidate) -> dict[str, object]:
        common = {"placement": candidate.placement, "texts": candidate.texts,
                  "refused": candidate.refused}
        if candidate.estimate is None:
            return common
        found = candidate.estimate
        return {**common, "cycles": found.cycles,
                "per_second": round(self.texts_per_second(candidate), 3),
                "cores": [_core(found, number) for number in range(len(found.cores))]}


def _core(found: MeshEstimate, core: int) -> dict[str, object]:
    return {"core": core, "cycles": found.cores[core].cycles,
            "percent_of_peak": round(100 * found.utilization[core], 3),
            "engines": {engine.name: vars(each)
                        for engine, each in found.cores[core].counters.engines.items()}}


def run(request: Request, *, progress: Progress) -> Estimated:
    """Compile a model in all ways in which cores can share it, and play the programs.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When the request cannot be met.
    """
    config = get_config(request.config)
    if request.layer is not None:
        raise ConfigError(f"{config.name!r} has {config.cores} cores, of which a single layer is "
                          "not estimated: leave --layer out, or choose one core")
    chosen = _encoder if request.model in ENCODERS else _decoder
    return chosen(request, config, progress)


def _encoder(request: Request, config: Config, progress: Progress) -> Estimated:
    with progress.stage("load model"):
        encoder = load_encoder(request.model)
    length = length_of(request, encoder, encoder.samples[0])
    with progress.stage("quantize"):
        model = quantized_encoder(encoder)
    with progress.stage("compile and estimate"):
        found = candidates(model, Site.of(config), length=length, name=encoder.name,
                           external=request.external)
    return Estimated(request, config, encoder.name, f"texts of {length} tokens", found)


def _decoder(request: Request, config: Config, progress: Progress) -> Estimated:
    model = load_model(model_of(request.model, request.prompt))
    length = length_of(request, model, model.default_prompt)
    found = []
    for placement in ("columns", "texts"):
        with progress.stage(f"compile and estimate {placement}"):
            found.append(_token(model, config, length, placement, request))
    if all(each.estimate is None for each in found):
        raise CompileError(f"{model.name} cannot be placed on {config.name!r}: " + "; ".join(
            f"{each.placement}: {each.refused}" for each in found))
    return Estimated(request, config, model.name, f"a token at context {length}", found)


def _token(model: Model, config: Config, length: int, placement: str, request: Request
           ) -> Candidate:
    """A token that all cores share, or one of each core's own text."""
    texts = config.cores if placement == "texts" else 1
    try:
        decoder = compile_decoder(model, config.core if texts > 1 else config)
        if length >= decoder.context:
            raise CompileError(f"the length must be below the context of {decoder.context}, not "
                               f"{length}")
        program = step_program(decoder, length)
    except CompileError as error:
        return Candidate(placement, texts, None, str(error))
    commands = (program.commands if isinstance(program, MeshProgram)
                else [program.commands] * texts)
    return Candidate(placement, texts, estimate_mesh(config, commands, request.external))


def print_estimated(done: Estimated) -> None:
    """The placements, and what the cores do in the fastest."""
    config, external, best = done.config, done.request.external, done.fastest
    found = best.estimate
    assert found is not None
    facts = [
        ("Model", f"{done.name}, {done.work}"),
        ("Configuration", cores_and_cells(config)),
        ("External", f"{external.rate(config):g} bytes a cycle for all cores, latency "
                     f"{external.latency}"),
        ("Source", "the cycle model of the mesh; `systolith bench mesh` measures on the RTL"),
        ("Fastest", f"{best.placement}: {done.texts_per_second(best):,.1f} a second at "
                    f"{done.request.mhz:g} MHz")]
    if found.hottest is not None:
        link, load = found.hottest
        facts.append(("Busiest link", f"of node {link.node}, {link.port.name.lower()}: "
                                      f"{percent(load)} of the cycles"))
    print_facts(facts)
    print_candidates(done.candidates)
    print_table((f"core, {best.placement}", "cycles", "of peak", "awaits semaphores", "stalls"), (
        (str(core), number(each.cycles), percent(found.utilization[core]),
         number(sum(engine.wait_semaphore for engine in each.counters.engines.values())),
         number(sum(engine.stall for engine in each.counters.engines.values())))
        for core, each in enumerate(found.cores)))
