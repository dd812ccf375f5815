"""Measures speed. Times are of the processor, not of the clock on the wall, and what is compared
runs in turns: so other work on the machine disturbs little, and both sides alike."""
import dataclasses
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.hw.generate import generate
from systolith.hw.verilog import to_verilog
from systolith.sim import cxx
from systolith.sim.harness import Harness
from systolith.sim.merged_writes import merge_writes
from systolith.sim.progress import Progress
from systolith.sim.rtl import RtlDevice
from systolith.sim.speed.array import ArrayWithWeights
from systolith.sim.text import number, print_table
from systolith.sim.verilate import FAST_FLAGS, VERILATOR_FLAGS
from systolith.sw.compiler import compile_product

FOLDER = Path(__file__).parent
BY_HAND, DRIVER = FOLDER / "array.sv", FOLDER / "array.cpp"

#: Cycles of one run of an array, and runs of each in turn; the fastest counts.
CYCLES, TURNS = 200_000, 5

#: Sizes of the generator's table: cells along each side.
SIDES = (8, 16, 32)


@dataclass(frozen=True)
class Simulator:
    """A built array: seconds of each step, and the program."""

    name: str
    seconds: dict[str, float]
    program: Path


@dataclass(frozen=True)
class Speed:
    """A design that was simulated; ``cycles`` a second of processor time."""

    name: str
    seconds: dict[str, float]
    cycles: float


def processor_seconds() -> float:
    """Processor time of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def sized(side: int) -> Config:
    """``sim16`` with so many rows and columns, and memories of the same bytes where they must."""
    base = get_config("sim16")
    return dataclasses.replace(
        base, name=f"{side}x{side}", rows=side, cols=side, lanes=min(side, base.lanes),
        bus_bytes=min(side, base.bus_bytes), wgt_depth=base.wgt_depth // max(1, side // 16))


def generator_table(progress: Progress) -> list[tuple[str, int, float]]:
    """Name, cells and processor seconds of the generator for each size."""
    rows = []
    for side in SIDES:
        with progress.stage(f"generate {side}x{side}"):
            start = processor_seconds()
            generate(sized(side))
            rows.append((f"{side} x {side}", side * side, processor_seconds() - start))
    return rows


def simulation_table(progress: Progress) -> list[Speed]:
    """Our array, the one by hand, and the whole chip ``sim16``.

    Raises
    ------
    RuntimeError
        When the two arrays do not give the same sums.
    """
    with tempfile.TemporaryDirectory() as folder:
        arrays = [build_array(name, write, Path(folder, name), progress) for name, write in (
            ("generated", generated_source), ("by hand", source_by_hand))]
        with progress.stage("simulate the arrays"):
            speeds = compare(arrays)
    return [*speeds, _chip_speed(progress)]


def compare(arrays: Sequence[Simulator], cycles: int = CYCLES, turns: int = TURNS) -> list[Speed]:
    """Run the arrays in turns on the same beats."""
    best = dict.fromkeys((array.name for array in arrays), 0.0)
    for _ in range(turns):
        sums = {}
        for array in arrays:
            output = subprocess.run([array.program, str(cycles)], capture_output=True, text=True,
                                    check=True).stdout.split()
            best[array.name] = max(best[array.name], float(output[0]))
            sums[array.name] = output[1]
        if len(set(sums.values())) != 1:
            raise RuntimeError(f"the arrays give different sums: {sums}")
    return [Speed(f"array, {array.name}", array.seconds, best[array.name]) for array in arrays]


def generated_source(path: Path) -> Path:
    """The Verilog of our array, written into a folder."""
    source = path / "array.v"
    design = to_verilog(ArrayWithWeights(config=get_config("sim16")), name="bench")
    # As for the chip.
    source.write_text(merge_writes(design.text))
    return source


def source_by_hand(_: Path) -> Path:
    """The array written by hand."""
    return BY_HAND


def build_array(name: str, write: Callable[[Path], Path], folder: Path,
                progress: Progress) -> Simulator:
    """Generate, translate and compile one array, all with the chip's flags."""
    seconds: dict[str, float] = {}

    @contextmanager
    def timed(step: str) -> Iterator[None]:
        start = processor_seconds()
        with progress.stage(f"{step} ({name})"):
            yield
        seconds[step] = processor_seconds() - start

    generated = folder / "cpp"
    generated.mkdir(parents=True)
    runtime = cxx.runtime_objects(["verilated.cpp", "verilated_threads.cpp"])
    with timed("generate"):
        source = write(folder)
    with timed("Verilator"):
        cxx.verilate(source, top="bench", prefix="Vbench", folder=generated, flags=VERILATOR_FLAGS)
    with timed("C++"):
        flags = (*FAST_FLAGS, "-DVM_TRACE=0", "-DVM_TRACE_VCD=0")
        objects = cxx.compile_all(dict.fromkeys((DRIVER, *generated.glob("*.cpp")), flags),
                                  folder=generated)
    program = folder / "array"
    cxx.link([*objects, *runtime], output=program, flags=[])
    return Simulator(name, seconds, program)


def _chip_speed(progress: Progress) -> Speed:
    """The whole chip, built without the cache, with its array at work."""
    config, clock = get_config("sim16"), ProcessorProgress(quiet=progress.quiet)
    product = compile_product(config, m=128, k=384, n=384)
    with _empty_cache(), RtlDevice(config, progress=clock) as device:
        with progress.stage("simulate the chip"), _clocked(device.harness) as found:
            for _ in range(TURNS):
                product.run(device)
    steps = {"generate": "Verilog", "Verilator": "Verilator", "C++": "C++ compiler"}
    return Speed("whole chip sim16", {step: clock.processor[name] for step, name in steps.items()},
                 max(found))


class ProcessorProgress(Progress):
    """A progress that also keeps the processor time of each stage, in ``processor``."""

    def __init__(self, *, quiet: bool = False):
        super().__init__(quiet=quiet)
        self.processor: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage both ways."""
        start = processor_seconds()
        with super().stage(name):
            yield
        self.processor[name] = processor_seconds() - start


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Everything is built anew, and forgotten."""
    before = os.environ.get("SYSTOLITH_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYSTOLITH_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["SYSTOLITH_CACHE"]
            if before is not None:
                os.environ["SYSTOLITH_CACHE"] = before


@contextmanager
def _clocked(harness: Harness) -> Iterator[list[float]]:
    """Collect the cycles a second of each run of the queues; the driver's time does not count."""
    found: list[float] = []
    run_queues = harness.run_queues

    def timed(*arguments, **options):
        cycles, start = harness.cycles, processor_seconds()
        result = run_queues(*arguments, **options)
        found.append((harness.cycles - cycles) / (processor_seconds() - start))
        return result

    harness.run_queues = timed
    try:
        yield found
    finally:
        del harness.run_queues


def print_speed(generator: Sequence[tuple[str, int, float]], speeds: Sequence[Speed]) -> None:
    """Both tables."""
    print_table(("generator", "cells", "processor s"),
                [(name, number(cells), f"{seconds:.1f}") for name, cells, seconds in generator])
    steps = ("generate", "Verilator", "C++")
    print_table(("simulation", *(f"{step} s" for step in steps), "cycles/s", "ratio"), [
        (speed.name, *(f"{speed.seconds[step]:.1f}" if step in speed.seconds else "-"
                       for step in steps),
         number(round(speed.cycles)), f"{speed.cycles / speeds[1].cycles:.2f}")
        for speed in speeds])
