"""``systolith timing``: the clock that a block reaches by itself, and the path that limits it."""
from systolith.hw.boards.boards import get_board
from systolith.hw.configs import get_config
from systolith.sim.flow.block_timing import BlockTiming, time_block
from systolith.sim.progress import Progress
from systolith.sim.text import number, print_facts


def run(name: str, block: str, *, config: str | None, seeds: int, jobs: int,
        progress: Progress) -> BlockTiming:
    """Time a block with seeds 1 to ``seeds``, in the board's configuration unless another is given.
    """
    board = get_board(name)
    return time_block(block, board, get_config(config or board.config), seeds=range(1, seeds + 1),
                      jobs=jobs, progress=progress)


def as_json(timed: BlockTiming) -> dict[str, object]:
    """Cells, and MHz of the fastest and of each seed, with the path that limits the fastest."""
    best = timed.trials[0]
    return {"board": timed.board.name, "config": timed.config.name, "block": timed.block,
            **timed.cells, "mhz": round(best.timing.mhz, 1),
            "mhz_by_seed": {str(trial.seed): round(trial.timing.mhz, 1)
                            for trial in sorted(timed.trials, key=lambda trial: trial.seed)},
            "path": best.timing.describe_path()}


def print_timing(timed: BlockTiming) -> None:
    """The same as text."""
    seeds = ", ".join(f"{trial.timing.mhz:.1f} (seed {trial.seed})" for trial in timed.trials)
    print_facts([
        ("Block", f"{timed.block} of {timed.config.name}, alone on {timed.board.title}"),
        ("Cells", ", ".join(f"{number(count)} {kind.upper()}"
                            for kind, count in timed.cells.items() if count)),
        ("Clock, MHz", seeds),
        ("Slowest path", timed.trials[0].timing.describe_path()),
    ])
