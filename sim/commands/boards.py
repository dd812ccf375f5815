"""``systolith boards``: the boards, what is built for them, and how fast the last build is."""
from systolith.hw.boards.board import Board
from systolith.hw.boards.boards import BOARDS
from systolith.hw.configs import get_config
from systolith.sim.flow.reports import last_report
from systolith.sim.text import number, print_table

#: Figures of a build, as the table shows them.
FIGURES = ("lut", "ff", "dsp", "bram")


def as_json() -> dict[str, object]:
    """All boards; figures are null until the board has been built below the current folder."""
    return {"boards": [_facts(board) for board in BOARDS.values()]}


def _facts(board: Board) -> dict[str, object]:
    report = last_report(board) or {}
    return {"board": board.name, "config": board.config,
            **{name: report.get(name) for name in FIGURES},
            "mhz_required": board.clock_mhz, "mhz": report.get("mhz"),
            "macs_per_cycle": get_config(board.config).peak_macs_per_cycle,
            "built": bool(report)}


def print_boards() -> None:
    """One line a board."""
    rows = [_facts(board) for board in BOARDS.values()]
    names = ("config", *FIGURES, "mhz_required", "mhz", "macs_per_cycle")
    print_table(("board", "config", "LUT", "FF", "DSP", "BRAM", "MHz needed", "MHz", "MACs/cycle"),
                ([str(row["board"]), *(_text(row[name]) for name in names)] for row in rows))


def _text(value: object) -> str:
    return value if isinstance(value, str) else number(value)  # type: ignore[arg-type]
