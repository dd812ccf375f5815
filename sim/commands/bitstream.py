"""``systolith bitstream`` and ``systolith flash``: build for a board, and write to it."""
import os
import shlex
import shutil
import subprocess

from systolith.hw.boards.boards import get_board
from systolith.sim.flow.build import Built, build
from systolith.sim.flow.reports import bitstream_path
from systolith.sim.flow.tools import FlowError
from systolith.sim.progress import Progress
from systolith.sim.text import number, print_facts

#: Packages of Debian and Ubuntu that have the tools.
_PACKAGES = {"iceprog": "fpga-icestorm", "openFPGALoader": "openfpgaloader",
             "dfu-util": "dfu-util"}


def run(name: str, *, seeds: int, jobs: int | None, force: bool, progress: Progress) -> Built:
    """Build the bitstream of a board with seeds 1 to ``seeds``."""
    at_once = jobs or min(seeds, os.cpu_count() or 1)
    return build(get_board(name), seeds=range(1, seeds + 1), jobs=at_once, force=force,
                 progress=progress)


def print_built(built: Built) -> None:
    """What was built and how fast it is."""
    report = built.report
    kinds = ("lut", "ff", "dsp", "bram")
    print_facts([
        ("Board", f"{built.board.title}, configuration {built.board.config}"),
        ("Cells", ", ".join(f"{number(report[kind])} {kind.upper()}"  # type: ignore[arg-type]
                            for kind in kinds)),
        ("Clock", f"{report['mhz']} MHz, {report['mhz_required']:g} required"
                  + ("" if report["met"] else ": MISSED")),
        ("Slowest path", str(report["path"])),
        ("Bitstream", str(built.bitstream)),
        ("Write it", shlex.join(flash_command(built.board.name))),
    ])


def flash_command(name: str) -> list[str]:
    """The command that writes the board's bitstream."""
    board = get_board(name)
    return [*board.flash, str(bitstream_path(board))]


def flash(name: str, *, progress: Progress) -> dict[str, object]:
    """Write the last built bitstream to a board.

    Returns
    -------
    dict
        ``board``, and the ``command`` that was run.

    Raises
    ------
    FlowError
        When there is no bitstream, the tool is missing, or it fails.
    """
    command = flash_command(name)
    if not bitstream_path(get_board(name)).is_file():
        raise FlowError(f"there is no bitstream for {name}: run `systolith bitstream {name}` first")
    if shutil.which(command[0]) is None:
        raise FlowError(f"{command[0]} is not on PATH: install it, for example by "
                        f"`apt-get install {_PACKAGES[command[0]]}`; then: {shlex.join(command)}")
    progress.note(shlex.join(command))
    if subprocess.run(command, check=False).returncode:
        raise FlowError(f"{command[0]} failed; is the board connected, and may you use its port?")
    return {"board": name, "command": shlex.join(command)}
