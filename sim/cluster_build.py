"""From the Verilog of a core and of what joins the cores to a library that simulates the chip."""
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from systolith.hw.config import Config
from systolith.hw.core import Core
from systolith.hw.uncore import Uncore
from systolith.hw.verilog import Port, to_verilog
from systolith.sim import cxx
from systolith.sim.chip import sources_digest
from systolith.sim.merged_writes import merge_writes
from systolith.sim.progress import Progress
from systolith.sim.store import cached, digest
from systolith.sim.verilate import (
    FAST_FLAGS,
    HARNESS,
    LIBRARY,
    RUNTIME,
    SLOW_FLAGS,
    VERILATOR_FLAGS,
    generated_sources,
    harness_flags,
)

#: The parts that are Verilated, each once, whatever the number of cores.
PARTS = {"core": Core, "uncore": Uncore}
CORES = HARNESS.with_name("cores.h")
_NO_TRACE = ("-DVM_TRACE=0", "-DVM_TRACE_VCD=0", "-DSYSTOLITH_PROBES=0")


class Part(NamedTuple):
    """A part of the chip: its ports, and the folder with headers and object files."""

    ports: tuple[Port, ...]
    folder: Path


def build_cluster(config: Config, *, progress: Progress | None = None) -> Path:
    """The shared library for :class:`systolith.sim.harness.Harness` of a chip with several cores.

    The core is generated, Verilated and compiled once. It comes from the cache where only the
    harness or the number of cores changed, as far as the core does not depend on it.

    Raises
    ------
    ValueError
        When the configuration has one core: that is :func:`build_simulator`'s.
    ToolchainError
        When a tool is missing or fails.
    """
    if config.cores == 1:
        raise ValueError(f"configuration {config.name} has one core; a cluster needs several")
    progress = progress or Progress(quiet=True)
    parts = {name: _part(config, name, progress) for name in PARTS}
    flags = [*FAST_FLAGS, *_NO_TRACE,
             *harness_flags(bus_bytes=config.bus_bytes, cores=config.cores)]
    files = [path.read_bytes() for path in (HARNESS, CORES)]
    key = digest("cluster", cxx.tool_versions(), *files, *flags,
                 *(str(part.folder) for part in parts.values()))

    def build(folder: Path) -> None:
        with progress.stage("C++ compiler on the harness"):
            _link(folder, parts, flags, config.cores)

    return cached("simulators", key, build) / LIBRARY


def _part(config: Config, name: str, progress: Progress) -> Part:
    """A part from the cache, or built."""
    text, ports = _verilog(config, name, progress)
    key = digest("part", text, cxx.tool_versions(), *VERILATOR_FLAGS, *FAST_FLAGS, *SLOW_FLAGS)

    def build(folder: Path) -> None:
        source = folder / f"{name}.v"
        source.write_text(merge_writes(text))
        with progress.stage(f"Verilator on {name}"):
            cxx.verilate(source, top=name, prefix=f"V{name}", folder=folder, flags=VERILATOR_FLAGS)
        with progress.stage(f"C++ compiler on {name}"):
            cxx.compile_all(generated_sources(folder, _NO_TRACE), folder=folder)

    return Part(ports, cached("parts", key, build))


def _verilog(config: Config, name: str, progress: Progress) -> tuple[str, tuple[Port, ...]]:
    def build(folder: Path) -> None:
        with progress.stage(f"Verilog of {name}"):
            design = to_verilog(PARTS[name](config=config), name=name)
        (folder / "text.v").write_text(design.text)
        (folder / "ports.json").write_text(json.dumps(design.ports))

    key = digest("part", name, sources_digest(), json.dumps(asdict(config), sort_keys=True))
    folder = cached("verilog", key, build)
    ports = json.loads((folder / "ports.json").read_text())
    return (folder / "text.v").read_text(), tuple(Port(*port) for port in ports)


def _link(folder: Path, parts: dict[str, Part], flags: Sequence[str], cores: int) -> None:
    (folder / "joints.h").write_text(joints(parts["core"].ports, cores))
    includes = [f"-I{part.folder}" for part in parts.values()]
    objects = cxx.compile_all({HARNESS: [*flags, *includes]}, folder=folder)
    compiled = [path for part in parts.values() for path in sorted(part.folder.glob("*.o"))]
    cxx.link([*objects, *compiled, *cxx.runtime_objects(RUNTIME)], output=folder / LIBRARY,
             flags=["-shared"])


def joints(ports: Sequence[Port], cores: int) -> str:
    """C++ functions that visit each pair of a port of the uncore and the core's that it is wired
    to: ``from_cores`` what cores give, ``to_cores`` what they get."""
    wired = [port for port in ports if port.name not in ("clk", "rst")]
    signature = "inline void {}(Top& top, Core* const* cores, Visit visit) {{"
    lines = ["#pragma once"]
    for function, direction in (("from_cores", "output"), ("to_cores", "input")):
        lines += ["template <typename Top, typename Core, typename Visit>",
                  signature.format(function)]
        lines += [f"    visit(top.{_member(f'cores__{core}__{port.name}')}, "
                  f"cores[{core}]->{_member(port.name)});"
                  for core in range(cores) for port in wired if port.direction == direction]
        lines += ["}"]
    return "\n".join([*lines, ""])


def _member(port: str) -> str:
    """How Verilator calls a port."""
    return port.replace("__", "___05F")
