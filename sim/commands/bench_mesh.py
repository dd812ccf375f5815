"""``systolith bench mesh``: what the network alone does, beside what it can do at most."""
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice

from systolith.hw.config import ConfigError
from systolith.hw.configs import get_config
from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.area import router_cells, router_mhz
from systolith.sim.mesh.core_gather import core_gather
from systolith.sim.mesh.gather import Gathered, gather
from systolith.sim.mesh.patterns import PATTERNS
from systolith.sim.mesh.pipeline import Pipelined, check_requests, pipeline
from systolith.sim.mesh.player import MeshPlayer
from systolith.sim.mesh.simulation import Simulation, simulation
from systolith.sim.mesh.speed_up import Point, speed_up
from systolith.sim.mesh.traffic import Curve, measure, measure_pairs
from systolith.sim.progress import Progress
from systolith.sim.text import number, print_facts, print_table
from systolith.sw.encoder import quantized_encoder
from systolith.sw.models.encoders import load_encoder

#: Means all patterns that the mesh can have.
ALL = "all"

#: Positions of a request to the pipeline, and how many tokens later the next one begins.
_POSITIONS, _STEP = 128, 17

#: The load whose latency the table shows, as a share of the bound.
_SHOWN = 0.5


@dataclass(frozen=True)
class Request:
    """What to measure: mesh, names of patterns, cycles of a window, seed; the configuration of a
    core, where there are cores; requests to the pipeline."""

    config: MeshConfig
    patterns: tuple[str, ...]
    cycles: int
    seed: int
    core: str = "sim16"
    requests: int = 10


@dataclass(frozen=True)
class Traffic:
    """Curves, and cycles on top of the links in an idle mesh: the least and the most of all."""

    over_hops: tuple[int, int]
    curves: tuple[Curve, ...]

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"idle_latency_over_hops": list(self.over_hops),
                "patterns": [curve.as_json() for curve in self.curves]}

    def print(self) -> None:
        """A line a pattern."""
        least, most = self.over_hops
        extra = str(most) if least == most else f"{least} to {most}"
        print_facts([("idle mesh", f"a packet takes a cycle a link, and {extra}")])
        print_table(("pattern", "bound", "load at most", "reached", "% of bound", "hops + 1",
                     "mean at half", "99 % at half"), map(_row, self.curves))


def _row(curve: Curve) -> list[str]:
    shown = min(curve.points, key=lambda point: abs(point.offered - _SHOWN * curve.limits.least))
    return [curve.pattern, curve.limits.name, f"{curve.limits.least:.4f}",
            f"{curve.saturation:.4f}", f"{100 * curve.share:.1f}", f"{curve.zero_load_latency:.2f}",
            _cycles(shown.latency_mean), _cycles(shown.latency_p99)]


def _cycles(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


@dataclass(frozen=True)
class AllGather:
    """An all-gather, with its report."""

    result: Gathered
    name: str = "all-gather"

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return self.result.as_json()

    def print(self) -> None:
        """One line."""
        result = self.result
        print_facts([(self.name, f"{number(result.array_bytes)} bytes in "
                      f"{number(result.cycles)} cycles; a node can receive the others' parts in "
                      f"{result.bound_cycles:,.0f}: {100 * result.share:.1f} % of a link")])


@dataclass(frozen=True)
class Area:
    """Cells and clock of a router with five ports on an ECP5."""

    cells: Mapping[str, int]
    mhz: float

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {**self.cells, "mhz": round(self.mhz, 1)}

    def print(self) -> None:
        """One line."""
        counts = ", ".join(f"{number(count)} {kind}" for kind, count in self.cells.items() if count)
        print_facts([("router", f"{counts}; {self.mhz:.0f} MHz with its links")])


@dataclass(frozen=True)
class SpeedUp:
    """The same work on more and more cores."""

    points: Sequence[Point]

    def as_json(self) -> list[dict[str, object]]:
        """The values under their stable keys."""
        return [asdict(point) for point in self.points]

    def print(self) -> None:
        """A line a number of cores."""
        print_table(("work", "cores", "cycles", "speed-up", "% of peak"),
                    ([point.work, number(point.cores), number(point.cycles),
                      f"{point.speed_up:.2f}", f"{point.percent_of_peak:.1f}"]
                     for point in self.points))


def _traffic(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> Traffic:
    curves = []
    over = measure_pairs(player(), seed=request.seed)
    for pattern in request.patterns:
        with progress.stage(pattern):
            curves.append(measure(player(), pattern, cycles=request.cycles, seed=request.seed))
    return Traffic((int(over.min()), int(over.max())), tuple(curves))


def _gather(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> AllGather:
    with progress.stage("all-gather"):
        return AllGather(gather(player()))


def _area(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> Area:
    with progress.stage("Yosys"):
        cells = router_cells(request.config)
    with progress.stage("nextpnr"):
        return Area(cells, router_mhz(request.config))


def _core_gather(request: Request, player: Callable[[], MeshPlayer],
                 progress: Progress) -> AllGather:
    result = core_gather(request.core, request.config.width, request.config.height,
                         progress=progress)
    return AllGather(result, "all-gather by cores")


def _speed_up(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> SpeedUp:
    return SpeedUp(speed_up(request.core, request.config.width, request.config.height,
                            progress=progress))


def _simulation(request: Request, player: Callable[[], MeshPlayer],
                progress: Progress) -> Simulation:
    return simulation(request.core, request.config.width, request.config.height,
                      progress=progress)


def _pipeline(request: Request, player: Callable[[], MeshPlayer], progress: Progress) -> Pipelined:
    width, height = request.config.width, request.config.height
    check_requests(get_config(f"{request.core}@{width}x{height}"), request.requests)
    with progress.stage("load model"):
        encoder = load_encoder("minilm")
        model = quantized_encoder(encoder)
    ids = encoder.tokenizer.encode(" ".join(encoder.samples)).ids
    texts = [list(islice(cycle(ids), _STEP * number, _STEP * number + _POSITIONS))
             for number in range(request.requests)]
    return pipeline(model, texts, request.core, width, height, progress=progress)


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
        By the names of ``what``: :class:`Traffic`, :class:`AllGather`, :class:`Area`,
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
