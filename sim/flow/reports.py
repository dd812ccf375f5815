"""Reports of builds, kept beside the bitstreams below the current folder."""
import json
from pathlib import Path

from systolith.hw.boards.board import Board

#: Where builds end.
BUILD = Path("build", "boards")

_NAME = "report.json"


def bitstream_path(board: Board) -> Path:
    """Where the board's bitstream is, once it is built."""
    return BUILD / board.name / f"{board.name}.{board.bitstream_ending}"


def write_report(board: Board, report: dict[str, object]) -> None:
    """Write the report of a finished build."""
    path = BUILD / board.name / _NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")


def last_report(board: Board) -> dict[str, object] | None:
    """Report of the board's last build; None where there is none."""
    path = BUILD / board.name / _NAME
    return json.loads(path.read_text()) if path.is_file() else None
