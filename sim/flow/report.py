"""What nextpnr says of a placed design, read from its JSON report."""
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """A step of a path: its kind (``clk-to-q``, ``logic``, ``routing``, ``setup``), delay in
    nanoseconds, and the cell at which it ends."""

    kind: str
    ns: float
    cell: str


@dataclass(frozen=True)
class Timing:
    """The clock of the core after routing.

    ``mhz`` is what it reaches, ``required`` what it must; ``path`` limits it.
    """

    clock: str
    mhz: float
    required: float
    path: tuple[Step, ...]

    @property
    def met(self) -> bool:
        """Whether the clock is fast enough."""
        return self.mhz >= self.required

    def describe_path(self) -> str:
        """The path in one line: from where to where, and where the time goes."""
        if not self.path:
            return "unknown"
        ns = {kind: sum(step.ns for step in self.path if step.kind == kind)
              for kind in ("logic", "routing")}
        total = sum(step.ns for step in self.path)
        return (f"{self.path[0].cell} -> {self.path[-1].cell}, {total:.1f} ns, "
                f"of these {ns['routing']:.1f} routing and {ns['logic']:.1f} logic")


def timing(report: dict[str, Any], *, required: float) -> Timing:
    """The slowest clock of a report against the frequency in MHz that it must reach."""
    clocks = report["fmax"]
    clock = min(clocks, key=lambda name: clocks[name]["achieved"])
    paths = [path for path in report.get("critical_paths", ())
             if path["from"] == path["to"] and path["from"].split()[-1] == clock]
    return Timing(clock, clocks[clock]["achieved"], required,
                  tuple(_step(step) for step in paths[0]["path"]) if paths else ())


def _step(step: dict[str, Any]) -> Step:
    return Step(step["type"], step["delay"], step["to"]["cell"])


def utilization(report: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Used and available cells by nextpnr's kinds, those that are used."""
    return {kind: (each["used"], each["available"])
            for kind, each in report["utilization"].items() if each["used"]}
