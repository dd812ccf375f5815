"""Places and routes a netlist with several seeds, side by side."""
import json
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from systolith.hw.boards.board import Board
from systolith.sim.flow.report import Timing, timing
from systolith.sim.flow.tools import find_tool
from systolith.sim.store import cached, digest

#: The file that the packer reads, by family.
PLACED = {"ice40": "placed.asc", "ecp5": "placed.config"}

REPORT = "report.json"


@dataclass(frozen=True)
class Trial:
    """A seed, the folder with what came out of it, and its timing."""

    seed: int
    folder: Path
    timing: Timing


def arguments(board: Board, *, seed: int) -> list[str]:
    """Arguments of nextpnr but for its input files. Timing may fail here: the caller decides."""
    common = ["--seed", str(seed), "--report", REPORT, "--timing-allow-fail",
              "--freq", f"{board.clock_mhz:g}", "--package", board.package, f"--{board.device}"]
    if board.family == "ice40":
        return [*common, "--asc", PLACED["ice40"]]
    return [*common, "--speed", board.speed, "--router", "router1",
            "--textcfg", PLACED["ecp5"]]


def try_seeds(board: Board, netlist: Path, constraints: str, *, seeds: Sequence[int],
              jobs: int) -> Iterator[Trial]:
    """Place and route with each seed, at most ``jobs`` at a time; trials as they end.

    Without ``constraints`` the tool chooses pins. A seed that was tried before with the same
    netlist, constraints and tool is not run again.
    """
    content = digest(netlist.read_bytes())
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        running = [pool.submit(_try, board, netlist, content, constraints, seed) for seed in seeds]
        try:
            for trial in as_completed(running):
                yield trial.result()
        finally:
            for trial in running:
                trial.cancel()


def _try(board: Board, netlist: Path, content: str, constraints: str, seed: int) -> Trial:
    tool = find_tool(f"nextpnr-{board.family}")
    flag = {"ice40": "--pcf", "ecp5": "--lpf"}[board.family]
    options = [*arguments(board, seed=seed), flag, "constraints"]
    if not constraints:
        options.append(f"{flag}-allow-unconstrained")

    def build(folder: Path) -> None:
        (folder / "constraints").write_text(constraints)
        # Packaged tools see only the folder in which they run.
        source = Path(shutil.copy(netlist, folder))
        tool.run("--json", source.name, *options, folder=folder)
        source.unlink()

    folder = cached("placed", digest(content, constraints, tool.version, *options), build)
    report = json.loads((folder / REPORT).read_text())
    return Trial(seed, folder, timing(report, required=board.clock_mhz))
