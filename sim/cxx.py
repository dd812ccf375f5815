"""Verilator and the C++ compiler, called directly: no makefile, nothing compiled twice."""
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from systolith.sim.store import cached, digest
from systolith.sim.toolchain import INSTALL_COMPILER, ToolchainError, find_compiler, find_verilator

#: What generated code and Verilator's run-time library need of the compiler. Warnings about
#: generated code tell a user nothing.
COMMON_FLAGS = ("-std=c++20", "-fPIC", "-pthread", "-w", "-DVERILATOR=1", "-DVM_COVERAGE=0",
                "-DVM_SC=0", "-DVM_TIMING=0", "-DVM_TRACE_FST=0", "-DVM_TRACE_SAIF=0")

#: Sources are compiled together up to so many bytes.
BATCH_BYTES = 250_000

#: Lines of a failed tool's output that go into the error.
ERROR_LINES = 20


def jobs() -> int:
    """Processes to run at once: ``SYSTOLITH_JOBS`` where set, else the cores of this machine."""
    chosen = os.environ.get("SYSTOLITH_JOBS", "")
    return max(1, int(chosen)) if chosen.isdigit() else os.cpu_count() or 1


def run_tool(command: Sequence[str], *, folder: Path, what: str,
             environment: Mapping[str, str] | None = None) -> None:
    """Run a tool in a folder.

    Raises
    ------
    ToolchainError
        When it is missing or fails; the message has the end of its output.
    """
    try:
        result = subprocess.run(command, cwd=folder, env=environment, text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    except OSError as error:
        raise ToolchainError(f"{what}: cannot run {command[0]}: {error.strerror}; "
                             f"{INSTALL_COMPILER}") from error
    if result.returncode:
        output = "\n".join(result.stdout.strip().splitlines()[-ERROR_LINES:])
        raise ToolchainError(f"{what} failed with exit code {result.returncode}:\n{output}")


def verilate(source: Path, *, top: str, prefix: str, folder: Path, flags: Sequence[str]) -> None:
    """Translate a Verilog file to C++ files in ``folder``; module ``top`` becomes class ``prefix``.

    Raises
    ------
    ToolchainError
        When Verilator is missing or rejects the source.
    """
    tool = find_verilator()
    command = [str(tool.binary), "--cc", "--top-module", top, "--prefix", prefix,
               "--Mdir", str(folder), "--no-timing", "-Wno-lint", "-Wno-style", *flags, str(source)]
    run_tool(command, folder=folder, what=f"Verilator on {top}", environment=tool.environment)


def include_flags(folder: Path) -> list[str]:
    """Include paths for the code that Verilator wrote into ``folder``."""
    include = find_verilator().root / "include"
    return [f"-I{folder}", f"-I{include}", f"-I{include / 'vltstd'}"]


def _batches(sources: Mapping[Path, Sequence[str]], folder: Path) -> dict[Path, Sequence[str]]:
    """Files that each include several sources with the same flags, with those flags.

    Verilator's headers cost most of a second in every translation unit, more than a small file.
    """
    groups: dict[tuple[str, ...], list[Path]] = {}
    for source, flags in sources.items():
        groups.setdefault(tuple(flags), []).append(source)
    result: dict[Path, Sequence[str]] = {}
    for flags, members in groups.items():
        room = 0
        for source in sorted(members, key=lambda member: member.stat().st_size, reverse=True):
            room -= source.stat().st_size
            if room < 0:
                batch = folder / f"batch{len(result)}.cc"
                batch.write_text("")
                result[batch] = flags
                room = BATCH_BYTES - source.stat().st_size
            with batch.open("a") as file:
                file.write(f'#include "{source}"\n')
    return result


def compile_all(sources: Mapping[Path, Sequence[str]], *, folder: Path) -> list[Path]:
    """Compile C++ files, each with its flags, side by side, small ones together.

    Returns
    -------
    list[Path]
        The object files, in ``folder``.

    Raises
    ------
    ToolchainError
        When the compiler is missing or rejects a file.
    """
    compiler = find_compiler().command
    batches = _batches(sources, folder)

    def compile_one(batch: Path) -> Path:
        output = batch.with_suffix(".o")
        run_tool([compiler, *COMMON_FLAGS, *batches[batch], *include_flags(folder),
                  "-c", str(batch), "-o", str(output)], folder=folder,
                 what=f"{compiler} on {batch.read_text().strip()}")
        return output

    with ThreadPoolExecutor(max_workers=jobs()) as pool:
        return list(pool.map(compile_one, batches))


def runtime_objects(names: Sequence[str]) -> list[Path]:
    """Objects of Verilator's run-time library (``verilated.cpp`` and others), from the cache."""
    include = find_verilator().root / "include"

    def one(name: str) -> Path:
        source = include / name

        def build(folder: Path) -> None:
            compile_all({source: ("-O2",)}, folder=folder)

        key = digest("runtime", tool_versions(), name, source.read_bytes())
        return next(cached("runtime", key, build).glob("*.o"))

    with ThreadPoolExecutor(max_workers=jobs()) as pool:
        return list(pool.map(one, names))


def native_flags() -> tuple[str, ...]:
    """Flags for this machine's own instructions where the key can name its processor, else none."""
    return ("-march=native",) if platform.machine() == "x86_64" and _processor() else ()


@cache
def _processor() -> str:
    """The instruction set extensions of this machine, so that no other takes its binaries."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("flags")), "")


def tool_versions() -> str:
    """What identifies the tools and the machine in a cache key."""
    compiler, tool = find_compiler(), find_verilator()
    return (f"{compiler.command} {compiler.version} {tool.version} {COMMON_FLAGS} "
            f"{platform.platform()} {_processor()}")


def link(objects: Sequence[Path], *, output: Path, flags: Sequence[str]) -> None:
    """Link objects to a program or, with ``-shared`` among the flags, a shared library."""
    command = [find_compiler().command, "-pthread", "-o", str(output), *map(str, objects), *flags]
    run_tool(command, folder=output.parent, what=f"linking {output.name}")

