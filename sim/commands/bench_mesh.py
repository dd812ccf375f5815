"""``systolith bench mesh``: what the network alone does, beside what it can do at most."""
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice

from systolith.hw.config import Config, ConfigError
from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.all_traffic import Traffic, all_traffic
from systolith.sim.mesh.area import Area, area
from systolith.sim.mesh.core_gather import core_gather
from systolith.sim.mesh.cores import on_mesh
from systolith.sim.mesh.gather import Gathered, gather
from systolith.sim.mesh.patterns import PATTERNS
from systolith.sim.mesh.pipeline import Pipelined, check_requests, pipeline
from systolith.sim.mesh.player import MeshPlayer
from systolith.sim.mesh.simulation import Simulation, simulation
from systolith.sim.mesh.speed_up import SpeedUp, speed_up, works_of
from systolith.sim.progress import Progress
from systolith.sw.encoder import quantized_encoder
from systolith.sw.models.encoders import load_encoder

#: Means all patterns that the mesh can have.
ALL = "all"

#: Positions of a request to the pipeline, and how many tokens later the next one begins.
_POSITIONS, _STEP = 128, 17


@dataclass(frozen=True)
class Request:
    """What to measure: mesh, names of patterns, cycles of a window, seed. Where there are cores:
    the configuration of one, how the names of works to speed up begin (None: all), requests to
    the pipeline."""

    config: MeshConfig
    patterns: tuple[str, ...]
    cycles: int
    seed: int
    core: Config
    work: str | None
    requests: int

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self.config.width, self.config.height


def _traffic(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> Traffic:
    return all_traffic(player(), request.patterns, cycles=request.cycles, seed=request.seed,
                       progress=progress)


def _gather(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> Gathered:
    with progress.stage("all-gather"):
        return gather(player())


def _area(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> Area:
    return area(request.config, progress=progress)


def _core_gather(request: Request, player: Callable[[], MeshPlayer],
                 progress: Progress) -> Gathered:
    return core_gather(request.core, *request.size, progress=progress)


def _speed_up(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> SpeedUp:
    return speed_up(request.core, *request.size, works=works_of(request.work), progress=progress)


def _simulation(request: Request, player: Callable[[], MeshPlayer],
                progress: Progress) -> Simulation:
    return simulation(request.core, *request.size, progress=progress)


def _pipeline(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> Pipelined:
    check_requests(on_mesh(request.core, *request.size), request.requests)
    with progress.stage("load model"):
        encoder = load_encoder("minilm")
        model = quantized_encoder(encoder)
    ids = encoder.tokenizer.encode(" ".join(encoder.samples)).ids
    texts = [list(islice(cycle(ids), _STEP * number, _STEP * number + _POSITIONS))
             for number in range(request.requests)]
    return pipeline(model, texts, request.core, *request.size, progress=progress)


#: What can be measured, by the names that the command line has. Each function gets the request, a
#: function that gives the simulated mesh, which is built at the first call, and the progress.
MEASUREMENTS = {"traffic": _traffic, "gather": _gather, "area": _area,
                "core-gather": _core_gather, "speed-up": _speed_up,
                "simulation": _simulation, "pipeline": _pipeline}

#: Those that are measured by default: the others take minutes.
DEFAULT = ("traffic", "gather")


def size_of(text: str) -> tuple[int, int]:
    """Width and height out of ``WxH``.

    Raises
    ------
    ConfigError
        When it is something else.
    """
    width, cross, height = text.lower().partition("x")
    if not (cross and width.isdecimal() and height.isdecimal()):
        raise ConfigError(f"a mesh is given as columns x rows, like 4x4, not {text!r}")
    return int(width), int(height)


def patterns_of(name: str, config: MeshConfig) -> tuple[str, ...]:
    """The patterns that a name means.

    Raises
    ------
    ConfigError
        When no pattern has the name, or the mesh is no square and the pattern needs one.
    """
    if name == ALL:
        square = config.width == config.height
        return tuple(each for each in PATTERNS if square or each != "transpose")
    if name not in PATTERNS:
        raise ConfigError(f"unknown pattern {name!r}; choose one of {', '.join(PATTERNS)}, {ALL}")
    PATTERNS[name](config)
    return (name,)


def run(request: Request, what: Sequence[str], *, progress: Progress) -> dict[str, object]:
    """Measure.

    Returns
    -------
    dict
        By the names of ``what``: :class:`Traffic`, :class:`Gathered`, :class:`Area`,
        :class:`SpeedUp`, :class:`Simulation`, :class:`Pipelined`.

    Raises
    ------
    ConfigError, CompileError
        When something cannot be measured in this mesh.
    ToolchainError
        When a tool is missing or fails.
    """
    for each in what:
        if each not in MEASUREMENTS:
            raise ConfigError(f"{each!r} cannot be measured; choose of {', '.join(MEASUREMENTS)}")
    opened: list[MeshPlayer] = []

    def player() -> MeshPlayer:
        if not opened:
            opened.append(MeshPlayer(request.config, progress=progress))
        return opened[0]

    try:
        return {each: MEASUREMENTS[each](request, player, progress) for each in what}
    finally:
        for each in opened:
            each.close()


def as_json(request: Request, results: Mapping[str, object]) -> dict[str, object]:
    """All results under their stable keys."""
    return {"mesh": asdict(request.config), "cycles": request.cycles, "seed": request.seed,
            **{name: result.as_json() for name, result in results.items()}}
