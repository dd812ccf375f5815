"""How fast a block is by itself, placed and routed for a board's FPGA."""
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.hw.boards.board import Board
from systolith.hw.config import Config
from systolith.hw.verilog import to_verilog
from systolith.sim.flow.alone import TOP, Alone
from systolith.sim.flow.blocks import BLOCKS
from systolith.sim.flow.place import Trial, try_seeds
from systolith.sim.flow.synthesis import synthesized
from systolith.sim.flow.tools import FlowError, warm
from systolith.sim.progress import Progress

#: The clock that the tools aim at, MHz: more than most blocks reach.
AIM_MHZ = 200


@dataclass(frozen=True)
class BlockTiming:
    """A block's cells, with the registers around it, and its trials, the fastest first."""

    board: Board
    config: Config
    block: str
    cells: dict[str, int]
    trials: tuple[Trial, ...]


def time_block(block: str, board: Board, config: Config, *, seeds: Sequence[int], jobs: int,
               progress: Progress) -> BlockTiming:
    """Synthesize, place and route one block between registers.

    Parameters
    ----------
    block : str
        One of :data:`BLOCKS`.
    board : Board
        Whose FPGA. Its pins and its clock do not count.
    config : Config
        Sizes of the block.
    seeds : sequence of int
        Seeds of the placer.
    jobs : int
        Processes that place and route at the same time.

    Raises
    ------
    FlowError
        When there is no such block, or a tool is missing or fails.
    """
    if block not in BLOCKS:
        raise FlowError(f"unknown block {block!r}; choose one of {', '.join(BLOCKS)}")
    warm(board.family, progress)
    with progress.stage("Verilog"):
        design = to_verilog(Alone(block=BLOCKS[block](config)), name=TOP)
    folder = synthesized(board.family, design.text, top=TOP, progress=progress)
    cells = json.loads((folder / "cells.json").read_text())
    aimed = dataclasses.replace(board, clock_mhz=AIM_MHZ)
    with progress.stage("place and route"):
        trials = list(try_seeds(aimed, folder / "netlist.json", "", seeds=seeds, jobs=jobs))
    trials.sort(key=lambda trial: -trial.timing.mhz)
    return BlockTiming(board, config, block, cells, tuple(trials))
