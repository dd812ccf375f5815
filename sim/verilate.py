"""From the chip's Verilog to a shared library that simulates it, built once per input."""
import re
from collections.abc import Sequence
from pathlib import Path

from systolith.sim import cxx
from systolith.sim.merged_writes import merge_writes
from systolith.sim.progress import Progress
from systolith.sim.store import cached, digest

#: Name of the top module, fixed because the harness includes the class made of it.
TOP = "chip"
LIBRARY = "simulator.so"
HARNESS = Path(__file__).with_name("harness.cpp")
SINGLE = HARNESS.with_name("single.h")
RECORDER = HARNESS.with_name("recorder.h")
#: Which signals the recorder reads.
PROBES = HARNESS.with_name("probes.vlt")

#: The pass `merge_cond` is quadratic in registers that share an enable: minutes for a large array,
#: no gain in speed. The splits let the C++ compiler work side by side.
VERILATOR_FLAGS = ("-O3", "--x-assign", "fast", "--x-initial", "fast", "--no-assert",
                   "-fno-merge-cond", "--output-split", "8000", "--output-split-cfuncs", "2000")
#: Ports that go both ways get two more, with the suffixes `__en` and `__out`.
INOUT_FLAGS = ("--pins-inout-enables",)
FAST_FLAGS = ("-O2", *cxx.native_flags())
#: Parts of Verilator's run-time library that every simulation needs.
RUNTIME = ("verilated.cpp", "verilated_threads.cpp")
#: For code that runs once: constructors and initial values.
SLOW_FLAGS = ("-O0",)


def _flags(bus_bytes: int, probes: bool, trace: bool) -> tuple[str, ...]:
    if bus_bytes not in (4, 8, 16):
        raise ValueError(f"bus_bytes must be 4, 8 or 16, not {bus_bytes!r}")
    return (*harness_flags(bus_bytes=bus_bytes, cores=1), f"-DSYSTOLITH_PROBES={int(probes)}",
            *_trace_flags(trace))


def harness_flags(*, bus_bytes: int, cores: int) -> tuple[str, ...]:
    """What the harness must know of the chip."""
    return (f"-DSYSTOLITH_BUS_BYTES={bus_bytes}", f"-DSYSTOLITH_CORES={cores}")


def _trace_flags(trace: bool) -> tuple[str, ...]:
    return (f"-DVM_TRACE={int(trace)}", f"-DVM_TRACE_VCD={int(trace)}")


def simulator_key(verilog: str, *, bus_bytes: int, probes: bool = False,
                  trace: bool = False) -> str:
    """SHA-256 of everything that the library of :func:`build_simulator` depends on."""
    flags = (*VERILATOR_FLAGS, *FAST_FLAGS, *SLOW_FLAGS, *_flags(bus_bytes, probes, trace))
    files = (path.read_bytes() for path in (HARNESS, SINGLE, RECORDER, PROBES))
    return digest("simulator", verilog, *files, cxx.tool_versions(), *flags)


def build_simulator(verilog: str, *, bus_bytes: int, probes: bool = False, trace: bool = False,
                    progress: Progress | None = None) -> Path:
    """The shared library for :class:`systolith.sim.harness.Harness`, from the cache or built.

    Parameters
    ----------
    verilog : str
        Source text with a top module named ``chip``.
    bus_bytes : int
        Bytes of a beat of external memory: 4, 8 or 16.
    probes : bool
        Keep the signals of ``probes.vlt`` readable, so that runs can be recorded. It costs nothing
        while none is; the source must be the chip.
    trace : bool
        Build with VCD traces, which makes the simulation slower even where none is written.
    progress : Progress, optional
        Where the stages are shown.

    Returns
    -------
    Path
        The library.

    Raises
    ------
    ValueError
        When the source has no module ``chip`` or ``bus_bytes`` is something else.
    ToolchainError
        When a tool is missing or fails.
    """
    progress = progress or Progress()
    verilog = merge_writes(verilog)
    flags = _flags(bus_bytes, probes, trace)
    _check_top(verilog, TOP)

    def build(folder: Path) -> None:
        _build(folder, verilog, TOP, HARNESS, flags, probes, trace, progress)

    key = simulator_key(verilog, bus_bytes=bus_bytes, probes=probes, trace=trace)
    return cached("simulators", key, build) / LIBRARY


def build_library(verilog: str, *, top: str, harness: Path, headers: Sequence[Path] = (),
                  flags: Sequence[str] = (), trace: bool = False, progress: Progress) -> Path:
    """A shared library out of any Verilog and the C++ file that drives its top module.

    ``harness`` includes the class ``V<top>``, and ``headers`` beside it; ``flags`` are its own, and
    VM_TRACE tells it whether there are traces. For the rest see :func:`build_simulator`.
    """
    verilog = merge_writes(verilog)
    flags = (*flags, *_trace_flags(trace))
    _check_top(verilog, top)

    def build(folder: Path) -> None:
        _build(folder, verilog, top, harness, flags, False, trace, progress)

    key = digest("library", verilog, top, *(each.read_bytes() for each in (harness, *headers)),
                 cxx.tool_versions(), *VERILATOR_FLAGS, *FAST_FLAGS, *SLOW_FLAGS, *flags)
    return cached("simulators", key, build) / LIBRARY


def _check_top(verilog: str, top: str) -> None:
    if not re.search(rf"^module {top}\b", verilog, re.MULTILINE):
        raise ValueError(f"the Verilog source has no module named {top!r}")


def _build(folder: Path, verilog: str, top: str, harness: Path, flags: Sequence[str],
           probes: bool, trace: bool, progress: Progress) -> None:
    source = folder / f"{top}.v"
    source.write_text(verilog)
    generated = folder / "cpp"
    generated.mkdir()
    with progress.stage("Verilator run-time library"):
        runtime = cxx.runtime_objects([*RUNTIME, *(["verilated_vcd_c.cpp"] * trace)])
    with progress.stage("Verilator"):
        cxx.verilate(source, top=top, prefix=f"V{top}", folder=generated,
                     flags=[*VERILATOR_FLAGS, *(INOUT_FLAGS if "inout" in verilog else ()),
                            *([str(PROBES)] * probes), *(["--trace-vcd"] * trace)])
    with progress.stage("C++ compiler"):
        objects = cxx.compile_all({harness: [*FAST_FLAGS, *flags],
                                   **generated_sources(generated, flags)}, folder=generated)
        cxx.link([*objects, *runtime], output=folder / LIBRARY, flags=["-shared"])
    _remove_all(generated)


def generated_sources(folder: Path, flags: Sequence[str]) -> dict[Path, list[str]]:
    """What Verilator wrote, each file with its flags: hot code with optimization, code that runs
    once without, which would be most of the time."""
    sources = {}
    for source in sorted(folder.glob("*.cpp")):
        once = "__Slow" in source.name or "__Syms" in source.name
        sources[source] = [*(SLOW_FLAGS if once else FAST_FLAGS), *flags]
    return sources


def _remove_all(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
