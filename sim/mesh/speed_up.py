"""Speed-up over cores on the RTL: the same work on more cores, and more work on more cores."""
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from systolith.hw.config import Config, ConfigError
from systolith.sim.devices import open_machine
from systolith.sim.mesh.cores import on_mesh
from systolith.sim.mesh.works import WORKS, Work
from systolith.sim.progress import Progress
from systolith.sim.text import number, print_facts, print_table
from systolith.sw.compiler.errors import CompileError
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import Device


@dataclass(frozen=True)
class Point:
    """Work on a number of cores. Where the work grows with the cores, ``speed_up`` is throughput:
    no single piece of it gets faster.

    Parameters
    ----------
    work : str
    config : str
        Name of the configuration.
    cores, cycles : int
    speed_up : float
        Work a cycle, over that of one core.
    percent_of_peak : float
        Useful multiply-accumulates over what all arrays could do in these cycles.
    streamed : bool
        Whether weights came out of external memory in these cycles.
    """

    work: str
    config: str
    cores: int
    cycles: int
    speed_up: float
    percent_of_peak: float
    streamed: bool


@dataclass(frozen=True)
class LeftOut:
    """Work that a chip of so many cores cannot do, and why."""

    work: str
    cores: int
    reason: str


@dataclass(frozen=True)
class SpeedUp:
    """Work on more and more cores."""

    points: Sequence[Point]
    left_out: Sequence[LeftOut] = ()

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"points": [asdict(point) for point in self.points],
                "left_out": [asdict(each) for each in self.left_out]}

    def print(self) -> None:
        """A line a number of cores, then what was left out."""
        print_table(("work", "cores", "cycles", "speed-up", "% of peak", "weights"),
                    ([point.work, number(point.cores), number(point.cycles),
                      f"{point.speed_up:.2f}", f"{point.percent_of_peak:.1f}",
                      "streamed" if point.streamed else "in the cores"] for point in self.points))
        print_facts([(f"left out: {each.work} on {each.cores}", each.reason)
                     for each in self.left_out])


def sizes(width: int, height: int) -> Iterator[tuple[int, int]]:
    """Meshes with 1, 2, 4, ... cores that fit one of ``width`` x ``height``."""
    size = 1, 1
    while size[0] <= width and size[1] <= height:
        yield size
        wider = (size[0] == size[1] and 2 * size[0] <= width) or 2 * size[1] > height
        size = (2 * size[0], size[1]) if wider else (size[0], 2 * size[1])


def meshes(core: Config, width: int, height: int) -> Iterator[Config]:
    """Chips of :func:`sizes` of that core."""
    return (on_mesh(core, *size) for size in sizes(width, height))


def works_of(name: str | None) -> tuple[Work, ...]:
    """The works whose names begin like that; all for None.

    Raises
    ------
    ConfigError
        When there are none; the message lists those that exist.
    """
    found = tuple(work for work in WORKS if work.name.startswith(name or ""))
    if not found:
        raise ConfigError(f"no work has a name that begins with {name!r}; choose one of "
                          f"{', '.join(work.name for work in WORKS)}")
    return found


def speed_up(core: Config, width: int, height: int, *, works: Sequence[Work] = WORKS,
             progress: Progress) -> SpeedUp:
    """Measure on one core, and on more and more of them.

    Work that does not fit a chip is left out there, with the reason; where it does not fit one
    core, on all, as there is nothing to compare with.

    Parameters
    ----------
    core : Config
        Of one core.
    width, height : int
        The largest mesh.
    works : sequence of Work

    Raises
    ------
    RuntimeError
        When a result is not that of the reference: the RTL is broken.
    """
    found: dict[str, list[Point]] = {work.name: [] for work in works}
    left_out: list[LeftOut] = []
    for config in meshes(core, width, height):
        with open_machine("rtl", config, progress=progress) as machine:
            for work in works:
                if work.amount(config.cores) is None or (config.cores > 1 and not found[work.name]):
                    continue
                try:
                    with progress.stage(f"{work.name} on {config.cores}"):
                        found[work.name].append(_point(work, machine, found[work.name]))
                except CompileError as error:
                    left_out.append(LeftOut(work.name, config.cores, str(error)))
    return SpeedUp([point for points in found.values() for point in points], left_out)


def _point(work: Work, machine: Device | Cluster, before: Sequence[Point]) -> Point:
    config, amount = machine.config, work.amount(machine.config.cores)
    assert amount is not None
    done = work.measure(machine)
    if not done.exact:
        raise RuntimeError(f"{work.name} on {config.name} is not bit exact")
    first = work.amount(1)
    alone = first / before[0].cycles if before and first else amount / done.cycles
    peak = config.rows * config.cols * config.cores
    return Point(work.name, config.name, config.cores, done.cycles, amount / done.cycles / alone,
                 100 * done.macs / done.cycles / peak, done.streamed)
