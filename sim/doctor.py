"""Checks whether this machine has what Systolith needs, and says what mends it where not."""
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from systolith.sim.store import cache_folder
from systolith.sim.toolchain import INSTALL_COMPILER, ToolchainError, check_tools, find_compiler

MINIMUM_PYTHON = (3, 11)

#: Free space that simulators and the virtual environment need at least.
MINIMUM_FREE_BYTES = 1 << 30

#: Tools that only the tests use.
ONLY_TESTS = ("cocotb",)

#: A program that an old compiler, or one without the standard library's headers, refuses.
CXX20_SOURCE = "#include <concepts>\n#include <span>\ntemplate <std::integral T> T f(T x);\n"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Parameters
    ----------
    name : str
    found : str
        Version or place, empty when it is missing.
    remedy : str
        What mends it, empty when all is well.
    needed_for : str
        ``"all"``, or ``"tests"`` when `make sim` works without it.
    """

    name: str
    found: str
    remedy: str
    needed_for: str = "all"

    @property
    def ok(self) -> bool:
        """Whether there is nothing to mend."""
        return not self.remedy


def check_all() -> Iterator[Check]:
    """All checks, one after the other."""
    yield _python()
    for tool in check_tools():
        needed_for = "tests" if tool.name in ONLY_TESTS else "all"
        yield Check(tool.name, tool.version, tool.remedy, needed_for)
        if tool.name == "C++ compiler" and tool.found:
            yield _cxx20()
    yield _guarded("cache", _cache, "set SYSTOLITH_CACHE to a folder that you may write to")
    yield _guarded("disk", _disk, "free some space, or set SYSTOLITH_CACHE to a folder elsewhere")


def healthy(checks: list[Check]) -> bool:
    """Whether all that is needed for more than the tests is there."""
    return all(check.ok or check.needed_for == "tests" for check in checks)


def as_json(checks: list[Check]) -> dict[str, object]:
    """All checks under stable keys."""
    return {"ok": healthy(checks),
            "checks": [{**asdict(check), "ok": check.ok} for check in checks]}


def print_checks(checks: list[Check]) -> None:
    """A line for each check, and under it what mends it."""
    for check in checks:
        missing = "missing" if check.needed_for == "all" else "missing, only tests need it"
        print(f"{check.name:<14} {check.found if check.ok else missing}")
        if not check.ok:
            print(f"{'':<14} -> {check.remedy}")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    minimum = ".".join(map(str, MINIMUM_PYTHON))
    remedy = f"this is Python {version}: install Python {minimum} or newer, then `make clean`"
    return Check("Python", version, "" if sys.version_info >= MINIMUM_PYTHON else remedy)


def _cxx20() -> Check:
    command = [find_compiler().command, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    result = subprocess.run(command, input=CXX20_SOURCE, text=True, capture_output=True,
                            check=False)
    remedy = f"{command[0]} does not compile C++20: {INSTALL_COMPILER}"
    return Check("C++20", "yes", remedy if result.returncode else "")


def _guarded(name: str, check: Callable[[], str], remedy: str) -> Check:
    try:
        return Check(name, check(), "")
    except (OSError, ToolchainError) as error:
        return Check(name, "", f"{error}: {remedy}")


def _cache() -> str:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return str(folder)


def _disk() -> str:
    folder = _existing(cache_folder())
    free = shutil.disk_usage(folder).free
    if free < MINIMUM_FREE_BYTES:
        raise ToolchainError(f"only {free >> 20} MiB are free at {folder}")
    return f"{free / (1 << 30):.1f} GiB free"


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(folder for folder in (path, *path.parents) if folder.exists())
