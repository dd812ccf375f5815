"""Traffic of one pattern after the other, and its report."""
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.sim.mesh.player import MeshPlayer
from systolith.sim.mesh.traffic import Curve, measure, measure_pairs
from systolith.sim.progress import Progress
from systolith.sim.text import print_facts, print_table

#: The load whose latency the table shows, as a share of the bound.
_SHOWN = 0.5


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


def all_traffic(player: MeshPlayer, patterns: Sequence[str], *, cycles: int, seed: int,
                progress: Progress) -> Traffic:
    """Measure the idle mesh, then the patterns; parameters and errors as of :func:`measure`."""
    curves, over = list[Curve](), measure_pairs(player, seed=seed)
    for pattern in patterns:
        with progress.stage(pattern):
            curves.append(measure(player, pattern, cycles=cycles, seed=seed))
    return Traffic((int(over.min()), int(over.max())), tuple(curves))
