"""Builds the bitstream of a board: Verilog, Yosys, nextpnr with several seeds, packer."""
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from systolith.hw.boards.board import Board
from systolith.hw.boards.constraints import constraints
from systolith.hw.configs import get_config
from systolith.sim.flow.board_netlist import NETLIST, board_netlist
from systolith.sim.flow.place import PLACED, Trial, try_seeds
from systolith.sim.flow.reports import bitstream_path, write_report
from systolith.sim.flow.tools import FlowError, find_tool, warm
from systolith.sim.progress import Progress

#: MHz that the placer aims at, if not at the board's clock: of an ECP5 it takes every path that is
#: not much worse than the clock for equally urgent. With an iCE40 it has not been tried.
_AIM_MHZ = {"ecp5": 120}


@dataclass(frozen=True)
class Built:
    """A finished build.

    ``bitstream`` is what goes into the board, ``report`` the values of its ``report.json``.
    """

    board: Board
    bitstream: Path
    report: dict[str, object]


def build(board: Board, *, seeds: Sequence[int], jobs: int, force: bool,
          progress: Progress) -> Built:
    """Build a board's bitstream, or take up where a former build of the same inputs ended.

    All seeds are tried; the fastest is packed.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the placer.
    jobs : int
        Processes that place and route at the same time.
    force : bool
        Write the bitstream even when it misses its timing.

    Raises
    ------
    FlowError
        When a tool is missing or fails, or no seed meets the timing and ``force`` is not set.
    """
    warm(board.family, progress)
    synthesized = board_netlist(board, progress=progress)
    cells = json.loads((synthesized / "cells.json").read_text())
    trials: list[Trial] = []
    with progress.stage("place and route"):
        for trial in try_seeds(board, synthesized / NETLIST,
                               constraints(board, aim=_aim(board)),
                               seeds=seeds, jobs=jobs):
            trials.append(trial)
            progress.note(f"  seed {trial.seed}: {trial.timing.mhz:.1f} MHz, "
                          f"{board.clock_mhz:g} required")
    best = max(trials, key=lambda trial: trial.timing.mhz)
    if not best.timing.met and not force:
        raise FlowError(_missed(board, best, trials))
    return _finish(board, best, trials, cells, progress)


def _aim(board: Board) -> float:
    """How many times the board's clock that is."""
    return _AIM_MHZ.get(board.family, board.clock_mhz) / board.clock_mhz


def _missed(board: Board, best: Trial, trials: Sequence[Trial]) -> str:
    seeds = ", ".join(f"{trial.seed} ({trial.timing.mhz:.1f} MHz)"
                      for trial in sorted(trials, key=lambda trial: trial.seed))
    return (f"{board.name} misses its timing, so no bitstream is written: clock "
            f"{best.timing.clock} must reach {board.clock_mhz:g} MHz; seeds tried: {seeds}. "
            f"Slowest path of seed {best.seed}: {best.timing.describe_path()}. "
            "Try more --seeds; --force writes it all the same")


def _finish(board: Board, best: Trial, trials: Sequence[Trial], cells: dict[str, int],
            progress: Progress) -> Built:
    bitstream = bitstream_path(board)
    bitstream.parent.mkdir(parents=True, exist_ok=True)
    with progress.stage("pack"):
        _pack(board, best.folder, bitstream)
    report = {
        "board": board.name, "config": board.config, **cells, "mhz_required": board.clock_mhz,
        "mhz": round(best.timing.mhz, 1), "met": best.timing.met,
        "mhz_by_seed": {str(trial.seed): round(trial.timing.mhz, 1) for trial in trials},
        "path": best.timing.describe_path(), "bitstream": str(bitstream),
        "macs_per_cycle": get_config(board.config).peak_macs_per_cycle,
        "seconds": {name: round(seconds, 1) for name, seconds in progress.seconds.items()},
    }
    write_report(board, report)
    return Built(board, bitstream, report)


def _pack(board: Board, placed: Path, bitstream: Path) -> None:
    name = {"ice40": "icepack", "ecp5": "ecppack"}[board.family]
    options = ["--compress"] if board.family == "ecp5" else []
    # Packaged tools see only the folder in which they run.
    source = Path(shutil.copy(placed / PLACED[board.family], bitstream.parent))
    find_tool(name).run(*options, source.name, bitstream.name, folder=bitstream.parent)
    source.unlink()
