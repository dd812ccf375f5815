"""Run cocotb tests on an Amaranth component, in Verilator, from an ordinary pytest function.

A component is built once per content: the program is kept in the cache under the hash of its
Verilog. Runs are quiet and without waves; a run that fails is repeated with the same seed on a
build with waves, and the failure names the VCD.

Environment: ``SYSTOLITH_SEED`` (default 1) seeds everything random in a run.
"""
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from amaranth.back import verilog
from cocotb_tools import config as cocotb_config
from cocotb_tools.runner import get_runner

from systolith.sim import cxx
from systolith.sim.store import cached, digest
from tests.streams import Stream, pack, reset, unpack

__all__ = ["Stream", "pack", "parameters", "reset", "simulate", "to_verilog", "unpack"]

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "build" / "cocotb"
PARAMETERS = "SYSTOLITH_BENCH_PARAMETERS"
RUNTIME = ("verilated.cpp", "verilated_vpi.cpp", "verilated_threads.cpp", "verilated_vcd_c.cpp")
#: Small blocks: quick to compile matters more than quick to run.
OPTIMIZE = "-O1"
#: Lines of the simulation's output that go into a failure.
LOG_LINES = 60


def parameters() -> dict:
    """In a cocotb module: what the pytest function gave to :func:`simulate` as ``parameters``."""
    return json.loads(os.environ.get(PARAMETERS, "{}"))


def to_verilog(dut, name: str) -> str:
    """Verilog of a component, without source locations: those would spoil the cache."""
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    return verilog.convert(dut, name=name, emit_src=False, strip_internal_attrs=True)


def build(source: str, name: str, *, waves: bool, internals: bool) -> Path:
    """Folder with the program ``name`` that simulates the Verilog ``source`` under cocotb."""
    public = ["--public-flat-rw"] if internals else ["--public-depth", "1"]
    flags = ["--vpi", *public, "--timescale", "1ns/1ps", "-fno-merge-cond",
             *(["--trace-vcd"] if waves else [])]
    main = Path(cocotb_config.share_dir) / "lib" / "verilator" / "verilator.cpp"

    def fill(folder: Path) -> None:
        _fill(folder, source, name, flags, [OPTIMIZE, f"-DVM_TRACE={int(waves)}",
                                            f"-DVM_TRACE_VCD={int(waves)}"], main)

    key = digest("cocotb", source, name, *flags, OPTIMIZE, cxx.tool_versions(), main.read_bytes(),
                 str(cocotb_config.libs_dir))
    return cached("cocotb", key, fill)


def _fill(folder: Path, source: str, name: str, verilator_flags, compiler_flags, main: Path):
    generated = folder / "cpp"
    generated.mkdir()
    text = folder / f"{name}.v"
    text.write_text(source)
    cxx.verilate(text, top=name, prefix="Vtop", folder=generated, flags=verilator_flags)
    sources = dict.fromkeys([*generated.glob("*.cpp"), main], compiler_flags)
    objects = cxx.compile_all(sources, folder=generated)
    runtime = cxx.runtime_objects(RUNTIME)
    libraries = cocotb_config.libs_dir
    cxx.link([*objects, *runtime], output=folder / name,
             flags=[f"-Wl,-rpath,{libraries}", f"-L{libraries}", "-lcocotbvpi_verilator"])
    shutil.rmtree(generated)


def simulate(dut, name: str, test_module: str, *, parameters: Mapping | None = None,
             testcase: str | None = None, waves: bool = False, internals: bool = False) -> Path:
    """Run the cocotb tests of a module on a component; fail as pytest does when one fails.

    Parameters
    ----------
    dut : wiring.Component or str
        The component, or its Verilog.
    name : str
        Name for its top module.
    test_module : str
        Module with ``@cocotb.test()`` functions, usually ``__name__``.
    parameters : mapping, optional
        Of JSON values; the cocotb module gets it from :func:`parameters`.
    testcase : str, optional
        Run only this test of the module.
    waves : bool
        Write a VCD also when all goes well.
    internals : bool
        Let the tests reach signals inside the component, not only its ports. Slower.

    Returns
    -------
    Path
        ``dump.vcd``, which exists only with ``waves``.
    """
    __tracebackhide__ = True
    source = dut if isinstance(dut, str) else to_verilog(dut, name)
    folder = _run_folder(name, test_module)
    arguments = (source, name, test_module, parameters, testcase, internals, folder)
    error = _run(*arguments, waves=waves)
    if error and not waves:
        again = _run(*arguments, waves=True)
        error = again or f"{error}\n(the repetition for the waves passed: not reproducible)"
    if error:
        pytest.fail(f"{error}\nseed: SYSTOLITH_SEED={_seed()}\nwaves: {folder / 'dump.vcd'}",
                    pytrace=False)
    if not waves:
        shutil.rmtree(folder)
    return folder / "dump.vcd"


def _seed() -> str:
    return os.environ.get("SYSTOLITH_SEED", "1")


def _run_folder(name: str, test_module: str) -> Path:
    """A fresh folder for this pytest test."""
    current = os.environ.get("PYTEST_CURRENT_TEST", "test").split("::")[-1].split(" ")[0]
    folder = RUNS / re.sub(r"[^\w.=-]+", "_", f"{test_module}.{current}.{name}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _run(source, name, test_module, given, testcase, internals, folder, *, waves) -> str:
    """Run once; what went wrong, or an empty string."""
    program = build(source, name, waves=waves, internals=internals)
    log = folder / "output.log"
    try:
        get_runner("verilator").test(
            hdl_toplevel=name, hdl_toplevel_lang="verilog", test_module=test_module,
            testcase=testcase, build_dir=program, test_dir=folder, seed=_seed(), waves=waves,
            log_file=log, results_xml=str(folder / "results.xml"),
            extra_env={PARAMETERS: json.dumps(dict(given or {})),
                       "PYTHONWARNINGS": "error::DeprecationWarning"})
    except (SystemExit, RuntimeError) as error:
        lines = log.read_text(errors="replace").splitlines()
        return "\n".join([f"cocotb run of {test_module} failed ({error})", *lines[-LOG_LINES:]])
    return ""
