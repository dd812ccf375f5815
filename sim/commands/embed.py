"""``systolith run ENCODER --text FILE`` and ``systolith similarity``: texts to unit vectors."""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.sim.devices import open_device
from systolith.sim.measure import Measure, total
from systolith.sim.progress import Progress
from systolith.sim.text import number, percent, print_facts, print_table
from systolith.sw.encoder import EncoderSession
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


@dataclass
class Embedded:
    """Texts with their vectors, and what they cost."""

    request: Request
    config: Config
    texts: Sequence[str]
    vectors: list[list[float]] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)

    @property
    def similarity(self) -> float:
        """Cosine of the first two vectors."""
        return sum(a * b for a, b in zip(*self.vectors[:2], strict=True))

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"model": self.request.model, "config": self.config.name,
                "device": self.request.device, "texts": list(self.texts),
                "embeddings": self.vectors, **total(self.measures).as_json()}


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
    result = Embedded(request, config, texts)
    with _session(request, config, progress) as session:
        for index, text in enumerate(texts, start=1):
            with progress.stage(f"text {index} of {len(texts)}"):
                result.vectors.append([float(value) for value in session.embed([text])[0]])
            macs = session.program(len(session.encoder.encode(text))).macs
            result.measures.append(Measure(config, macs, session.counters))
    return result


@contextmanager
def _session(request: Request, config: Config, progress: Progress) -> Iterator[EncoderSession]:
    with progress.stage("load model"):
        encoder = load_encoder(request.model)
    with open_device(request.device, config, stall=request.stall, seed=request.seed,
                     memory=request.memory, progress=progress) as device:
        with progress.stage("quantize"):
            session = EncoderSession(encoder, device, max_cycles=request.max_cycles)
        yield session


def print_embedded(result: Embedded) -> None:
    """The start of each vector, and what it cost."""
    print_facts([("Model", f"{result.request.model}; from the words to the unit vector all tensor "
                           "operations ran in the accelerator"),
                 ("Configuration", result.config.name), ("Device", result.request.device)])
    rows = []
    for text, vector, measure in zip(result.texts, result.vectors, result.measures, strict=True):
        start = " ".join(f"{value:+.4f}" for value in vector[:SHOWN])
        rows.append((text if len(text) <= 30 else text[:27] + "...", f"{start} ...",
                     number(measure.cycles), percent(measure.utilization)))
    print_table(("text", f"first {SHOWN} of {len(result.vectors[0])}", "cycles", "of peak"), rows)
