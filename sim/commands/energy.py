"""``systolith energy``: an estimate of the joules of a token, from counts and published figures."""
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from systolith.hw.boards.board import Board
from systolith.hw.boards.boards import get_board
from systolith.hw.config import Config, ConfigError
from systolith.hw.isa import Engine, Move
from systolith.sim.commands import estimate as cycles
from systolith.sim.commands import trace
from systolith.sim.progress import Progress
from systolith.sim.switching import Toggles, measure_toggles, random_toggles
from systolith.sim.text import number, percent, print_facts, print_table
from systolith.sw.compiler.errors import CompileError
from systolith.sw.estimate import energies
from systolith.sw.estimate.activity import Activity, activity
from systolith.sw.estimate.energies import Switching
from systolith.sw.estimate.energy import PARTS, Technology, assumptions, energy
from systolith.sw.estimate.span import Span, total
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES

#: Without a board: the configuration, and the clock of a chip in MHz.
CONFIG, MHZ = "sim16", 100.0

#: Cycles of the waveform out of which switching is measured; they start in the middle of the run.
WINDOW = 2_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for. ``config`` and ``mhz`` None stand for the board's, or for
    :data:`CONFIG` and :data:`MHZ`."""

    model: str
    config: str | None = None
    board: str | None = None
    length: int | None = None
    prompt: str | None = None
    mhz: float | None = None
    measure: bool = False


@dataclass(frozen=True)
class Run:
    """Counts and joules of a part of a model's work."""

    part: cycles.Part
    config: Config
    technology: Technology

    @cached_property
    def counts(self) -> Activity:
        """What it does."""
        return sum((activity(self.config, program.commands, each.cycles) for program, each
                    in zip(self.part.programs, self.part.estimates, strict=True)), Activity())

    @cached_property
    def joules(self) -> dict[str, Span]:
        """By part of the machine."""
        return energy(self.config, self.counts, self.technology)

    @property
    def total(self) -> Span:
        """Joules of all parts."""
        return total(self.joules.values())

    @property
    def of_token(self) -> Span:
        """Joules a token."""
        return self.total * (1 / self.part.tokens)

    @property
    def of_mac(self) -> Span:
        """pJ of a useful multiply-accumulate."""
        return self.total * (1e12 / self.part.macs)

    @property
    def seconds(self) -> float:
        """Time of the run."""
        return self.counts.cycles / (self.technology.mhz * 1e6)

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys; a range is a list of its ends."""
        return {"name": self.part.name, "tokens": self.part.tokens, "macs": self.part.macs,
                "seconds": self.seconds, "counts": self.counts.as_json(),
                "joules": {name: span.as_json() for name, span in self.joules.items()},
                "joules_total": self.total.as_json(),
                "joules_per_token": self.of_token.as_json(), "pj_per_mac": self.of_mac.as_json(),
                "watts": (self.total * (1 / self.seconds)).as_json()}


@dataclass(frozen=True)
class Estimated:
    """All that was asked for."""

    name: str
    config: Config
    board: Board | None
    technology: Technology
    toggles: Toggles | None
    runs: Sequence[Run]

    def as_json(self) -> dict[str, object]:
        """The report under its stable keys."""
        switching = self.technology.switching
        return {"model": self.name, "config": self.config.name,
                "board": self.board.name if self.board else None, "mhz": self.technology.mhz,
                "estimate": True, "runs": [run.as_json() for run in self.runs],
                "switching": {"product": switching.product, "sum": switching.sum,
                              "toggles": dict(self.toggles.shares) if self.toggles else None},
                "assumptions": assumptions(self.technology)}


def run(request: Request, *, progress: Progress) -> Estimated:
    """Compile what was asked for, play it in the cycle model, and count.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When the request cannot be met, or the model does not fit the board's external memory.
    SwitchingError, DeviceError, StuckError, ToolchainError, HarnessError
        When switching is to be measured and cannot be.
    """
    board = get_board(request.board) if request.board else None
    config = _config(request, board)
    memory = "sdram" if board and board.sdram else "ideal"
    mhz = request.mhz or (board.clock_mhz if board else MHZ)
    done = cycles.run(cycles.Request(
        model=request.model, layer=None, length=request.length, prompt=request.prompt,
        config=config, mhz=mhz, external=cycles.external(memory, config, None, None)),
        progress=progress)
    if board:
        _check_fit(done, board)
    toggles = _measure(request, done, progress) if request.measure else None
    technology = Technology(
        mhz=mhz, switching=_switching(done, toggles), sdram=memory == "sdram",
        device=energies.device(board.device) if board else None)
    return Estimated(done.name, done.config, board, technology, toggles, [
        Run(part, done.config, technology) for part in done.parts])


def _config(request: Request, board: Board | None) -> str:
    if board is None:
        return request.config or CONFIG
    if request.config not in (None, board.config):
        raise ConfigError(f"board {board.name!r} is built with configuration {board.config!r}, not "
                          f"{request.config!r}: leave --config or --board out")
    return board.config


def _check_fit(done: cycles.Estimated, board: Board) -> None:
    """Refuse a model that reaches beyond the board's external memory."""
    needed = max((move.ext_base + (move.rows - 1) * move.ext_stride + move.row_bytes
                  for part in done.parts for program in part.programs
                  for move in program.commands.get(Engine.MOVE, ()) if isinstance(move, Move)),
                 default=0)
    if needed > board.ext_bytes(done.config):
        raise CompileError(f"{done.name} needs {number(needed)} bytes of external memory, but "
                           f"board {board.name!r} has {number(board.ext_bytes(done.config))}")


def _measure(request: Request, done: cycles.Estimated, progress: Progress) -> Toggles:
    """Run the first part on the RTL and follow the array in the middle of it."""
    start = max(0, done.parts[0].measure.counters.cycles - WINDOW) // 2
    with tempfile.TemporaryDirectory() as folder:
        wave = Path(folder) / "wave.vcd"
        trace.record(trace.Request(
            model=request.model, layer=None, prompt=request.prompt, tokens=1,
            config=done.config.name, stall=0, seed=0, max_cycles=DEFAULT_MAX_CYCLES, start=start,
            end=start + WINDOW, wave=wave), progress=progress)
        with progress.stage("count toggles"):
            return measure_toggles(wave)


def _switching(done: cycles.Estimated, toggles: Toggles | None) -> Switching:
    if toggles is None:
        return energies.switching(done.name)
    ratio = toggles.over(random_toggles(done.config))
    return Switching(ratio["product"], ratio["sum"], f"measured now on the RTL of "
                     f"{done.config.name}, {number(toggles.beats)} beats")


def print_estimated(done: Estimated) -> None:
    """Joules by part, and what the estimate rests on."""
    made = f"board {done.board.name}" if done.board else "a chip of 45 nm"
    print_facts([
        ("Model", done.name),
        ("Machine", f"{done.config.name} as {made}, {done.technology.mhz:g} MHz"),
        ("Source", "an ESTIMATE: counts of the cycle model times published energies, as ranges")])
    for each in done.runs:
        whole = each.total
        print_table((each.part.name, "joules", "of all"), [
            *((name, ends(each.joules[name], "J"), percent(_middle_share(each.joules[name], whole)))
              for name in PARTS),
            ("all", ends(whole, "J"), "")])
        print_facts([
            ("A token", ends(each.of_token, "J")), ("A useful MAC", ends(each.of_mac * 1e-12, "J")),
            ("Power", ends(whole * (1 / each.seconds), "W"))])
    if done.toggles:
        print_facts([("Toggles", "of a bit a beat: " + ", ".join(
            f"{name} {share:.3f}" for name, share in done.toggles.shares.items()))])
    print_facts([("Assumptions" if not index else "", line)
                 for index, line in enumerate(assumptions(done.technology))])


def _middle_share(span: Span, whole: Span) -> float:
    return span.middle / whole.middle


#: Prefixes of units, the largest first.
_PREFIXES: Mapping[str, float] = {"": 1, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}


def ends(span: Span, unit: str) -> str:
    """A range as text, with the prefix that suits its upper end."""
    prefix, scale = next(((prefix, scale) for prefix, scale in _PREFIXES.items()
                          if span.high >= scale), ("p", 1e-12))
    return f"{_numbers(span * (1 / scale))} {prefix}{unit}"


def _numbers(span: Span) -> str:
    low, high = f"{span.low:.3g}", f"{span.high:.3g}"
    return high if low == high else f"{low} to {high}"


def plot(done: Estimated, path: Path) -> None:
    """Bars of joules a token, stacked by part: half way between the ends, which a line joins."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.2 * len(done.runs) + 4, 4.2), layout="constrained")
    axes = figure.subplots()
    names = [each.part.name for each in done.runs]
    below = [0.0] * len(names)
    for part in PARTS:
        heights = [1e6 * each.joules[part].middle / each.part.tokens for each in done.runs]
        axes.bar(names, heights, bottom=below, label=part, width=0.6)
        below = [base + height for base, height in zip(below, heights, strict=True)]
    axes.vlines(names, [1e6 * each.of_token.low for each in done.runs],
                [1e6 * each.of_token.high for each in done.runs], color="black")
    axes.set_ylabel("uJ a token (estimate)")
    axes.set_title(f"{done.name} on {done.board.name if done.board else done.config.name}")
    figure.legend(loc="outside right upper")
    figure.savefig(path, dpi=100)
