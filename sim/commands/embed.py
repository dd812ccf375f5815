"""``systolith run ENCODER TEXT`` and ``systolith similarity``: texts to unit vectors."""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.sim.devices import open_machine
from systolith.sim.measure import Measure, total
from systolith.sim.progress import Progress
from systolith.sim.text import cores_and_cells, number, percent, print_facts, print_table
from systolith.sw.compiler.site import Site
from systolith.sw.encoder import EncoderSession
from systolith.sw.encoder.placement import check_placement, check_teams
from systolith.sw.models import ModelError
from systolith.sw.models.encoders import load_encoder

#: Elements of a vector that the report shows.
SHOWN = 4


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for."""

    model: str
    config: str
    device: str
    max_cycles: int
    stall: int = 0
    seed: int = 0
    memory: str = "ideal"
    placement: str | None = None
    teams: int | None = None
    without: Sequence[int] = ()


@dataclass
class Embedded:
    """Texts with their vectors, and what the runs cost; ``runs`` has the run of each text, and
    ``idle`` the cores that are on and had nothing to do."""

    request: Request
    config: Config
    texts: Sequence[str]
    vectors: list[list[float]] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    idle: tuple[int, ...] = ()

    @property
    def similarity(self) -> float:
        """Cosine of the first two vectors."""
        return sum(a * b for a, b in zip(*self.vectors[:2], strict=True))

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"model": self.request.model, "config": self.config.name,
                "device": self.request.device, "texts": list(self.texts),
                "embeddings": self.vectors, "runs": self.runs,
                "placement": self.request.placement, "without_cores": sorted(self.request.without),
                "idle_cores": list(self.idle), **total(self.measures).as_json()}


def texts_of(path: Path) -> list[str]:
    """The texts of a file, one a line.

    Raises
    ------
    ModelError
        When it does not exist, is no text in UTF-8, or has none.
    """
    if not path.is_file():
        raise ModelError(f"file {path} does not exist; write the texts into it, one a line")
    try:
        texts = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} is no text in UTF-8: {error.reason} at byte {error.start}"
                         ) from None
    texts = [text for text in texts if text]
    if not texts:
        raise ModelError(f"{path} has no text; write one a line")
    return texts


def embed(request: Request, texts: Sequence[str], *, progress: Progress) -> Embedded:
    """Embed texts on a device.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When the request cannot be met.
    DeviceError, StuckError, ToolchainError
        When the device fails.
    """
    config = get_config(request.config)
    check_placement(Site.of(config, request.without), request.placement)
    check_teams(request.placement, request.teams)
    result = Embedded(request, config, texts, [[]] * len(texts), runs=[0] * len(texts))
    with _session(request, config, progress) as session:
        for run, group in enumerate(session.groups(texts)):
            with progress.stage(_stage(group, len(texts))):
                batch = session.run([texts[text] for text in group])
            for text, vector in zip(group, batch.vectors.tolist(), strict=True):
                result.vectors[text], result.runs[text] = vector, run
            result.idle = batch.idle
            result.measures.append(Measure(config, batch.macs, batch.counters))
    return result


def _stage(group: Sequence[int], count: int) -> str:
    numbers = ", ".join(str(text + 1) for text in group)
    return f"text{'s' if len(group) > 1 else ''} {numbers} of {count}"


@contextmanager
def _session(request: Request, config: Config, progress: Progress) -> Iterator[EncoderSession]:
    with progress.stage("load model"):
        encoder = load_encoder(request.model)
    with open_machine(request.device, config, stall=request.stall, seed=request.seed,
                      memory=request.memory, off=request.without, progress=progress) as machine:
        with progress.stage("quantize"):
            session = EncoderSession(encoder, machine, max_cycles=request.max_cycles,
                                     placement=request.placement, teams=request.teams)
        yield session


def print_embedded(result: Embedded) -> None:
    """The start of each vector, and what it cost."""
    facts = [("Model", f"{result.request.model}; from the words to the unit vector all tensor "
                       "operations ran in the accelerator"),
             ("Configuration", cores_and_cells(result.config, result.request.without)),
             ("Device", result.request.device)]
    if result.idle:
        facts.append(("Idle cores", f"{', '.join(map(str, result.idle))}; the others have a layer "
                                    "each, and there are no more"))
    most = max(map(result.runs.count, result.runs))
    if most > 1:
        facts.append(("Texts a run", f"up to {most}; cycles are those of all of them together"))
    print_facts(facts)
    rows = []
    for text, vector, run in zip(result.texts, result.vectors, result.runs, strict=True):
        start, measure = " ".join(f"{value:+.4f}" for value in vector[:SHOWN]), result.measures[run]
        rows.append((text if len(text) <= 30 else text[:27] + "...", f"{start} ...",
                     number(run + 1), number(measure.cycles), percent(measure.utilization)))
    print_table(("text", f"first {SHOWN} of {len(result.vectors[0])}", "run", "cycles", "of peak"),
                rows)
