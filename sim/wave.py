"""Ready-made views of a waveform for GTKWave and Surfer: the signals that matter, by engine."""
import math
import re
from collections.abc import Sequence
from pathlib import Path

from vcd.gtkw import GTKWSave

from systolith.hw.isa import ENGINES

#: The core in the chip's hierarchy.
_CORE = "chip.chip.core0"

#: Signals by group, as names below the core; those that a configuration does not have are left out.
GROUPS = {
    **{name: (f"control.counters.{name}__active", f"control.counters.{name}__stall",
              f"control.counters.{name}__waiting", f"control.counters.{name}__fenced",
              f"control.counters.{name}__retire", f"control.faults.{name}__started",
              f"control.{name}_queue.space", *extra)
       for name, extra in (
           ("move", ("move.bus__valid", "move.bus__region", "move.bus__address", "move.sent")),
           ("matrix", ("matrix.loops.beat__valid", "matrix.loops.beat__act",
                       "matrix.loops.beat__wgt", "matrix.loops.beat__acc",
                       "matrix.loops.beat__load", "matrix.loops.beat__first")),
           ("vector", ("vector.acc__valid", "vector.acc__address")))},
    "semaphores": ("control.semaphores.request", "control.semaphores.wait_",
                   "control.semaphores.grant", "control.semaphores.values"),
    "external": ("external.request__valid", "external.request__ready", "external.request__payload",
                 "external.read__valid", "external.write__valid", "external.write__ready"),
}
assert all(engine.name.lower() in GROUPS for engine in ENGINES)

#: GTKWave's zoom is the binary logarithm of the nanoseconds that 200 pixels show, negated; 900
#: pixels are to show all cycles, of 1000 ns each.
_ZOOM = 1000 * 200 / 900

_SCOPE = re.compile(r"\$scope \w+ (\S+) \$end")
_SIGNAL = re.compile(r"\$var \w+ (\d+) \S+ (\S+)(?: \[\S+\])? \$end")


def signals(path: Path) -> dict[str, int]:
    """Full names of all signals of a VCD, and their bits."""
    found: dict[str, int] = {}
    scopes: list[str] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            if match := _SCOPE.search(line):
                scopes.append(match[1])
            elif "$upscope" in line:
                scopes.pop()
            elif match := _SIGNAL.search(line):
                found[".".join([*scopes, match[2]])] = int(match[1])
            elif "$enddefinitions" in line:
                break
    return found


def view(path: Path) -> dict[str, list[tuple[str, int]]]:
    """The groups of the signals that a waveform has: full name and bits of each."""
    found = signals(path)
    # An instance whose name is also that of a signal has a number behind it.
    plain = {re.sub(r"_\d+(?=\.)", "", name): name for name in found}
    chosen = {}
    for group, names in GROUPS.items():
        full = [plain[f"{_CORE}.{name}"] for name in names if f"{_CORE}.{name}" in plain]
        chosen[group] = [(name, found[name]) for name in full]
    return chosen


def write_views(path: Path, cycles: int) -> tuple[Path, Path]:
    """Write the views beside the waveform ``x.vcd``: ``x.gtkw`` and ``x.sucl``; their paths.

    Parameters
    ----------
    cycles : int
        In the waveform; all of them are shown at first.
    """
    groups = view(path)
    clock = f"{_CORE}.clk"
    gtkwave, surfer = path.with_suffix(".gtkw"), path.with_suffix(".sucl")
    with gtkwave.open("w", encoding="utf-8") as file:
        save = GTKWSave(file)
        save.dumpfile(str(path.resolve()))
        save.zoom_markers(-math.log2(max(cycles, 1) * _ZOOM))
        _write_gtkwave(save, clock, groups)
    surfer.write_text("\n".join(_surfer(clock, groups)) + "\n", encoding="utf-8")
    return gtkwave, surfer


def _write_gtkwave(save: GTKWSave, clock: str, groups: dict[str, list[tuple[str, int]]]) -> None:
    save.size(1400, 900)
    save.signals_width(200)
    save.trace(clock)
    for group, members in groups.items():
        with save.group(group):
            for name, bits in members:
                save.trace(name if bits == 1 else f"{name}[{bits - 1}:0]", datafmt=_format(name))


def _format(name: str) -> str:
    """Counts are shown as decimal numbers, all else as hexadecimal ones."""
    return "dec" if name.endswith(("space", "__started")) else "hex"


def _surfer(clock: str, groups: dict[str, list[tuple[str, int]]]) -> Sequence[str]:
    """Commands of Surfer: a divider's name is one word."""
    lines = [f"variable_add {clock}"]
    for group, members in groups.items():
        lines.append(f"divider_add {group}")
        lines += [f"variable_add {name}" for name, _ in members]
    return [*lines, "zoom_fit"]
