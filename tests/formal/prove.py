"""Proofs with sby: write the design and its task, run it, say what failed and where to look.

A proof is a component whose input ports are free: every value in every cycle is tried. It holds the
design as a submodule, states what the inputs keep to with :func:`given` and what must follow with
:func:`holds`. The first cycle is a reset, before which **all registers are arbitrary**; so what is
proven holds after any CONTROL.RESET, not only after power-up.
"""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from amaranth import *
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from tests.formal.tools import SBY, SOLVERS, programs

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "build" / "formal"
#: Seconds after which a proof counts as failed.
TIMEOUT = 900

_TASK = """\
[options]
mode {mode}
depth {depth}
timeout {timeout}
[engines]
smtbmc {solver}
[script]
read_rtlil design.il
hierarchy -top top
proc
flatten
opt_clean -purge
prep -top top
[files]
design.il
"""


class Outcome(NamedTuple):
    """What sby says: ``PASS``, ``FAIL``, ``UNKNOWN`` (not inductive) …, seconds, and its folder."""

    status: str
    seconds: float
    failed: tuple[str, ...]
    folder: Path


def holds(condition):
    """Assert a condition in every cycle but the reset."""
    return Assert(Value.cast(condition).any() | ResetSignal(), src_loc_at=1)


def given(condition):
    """Assume a condition in every cycle but the reset."""
    return Assume(Value.cast(condition).any() | ResetSignal(), src_loc_at=1)


def implies(condition, consequence):
    """Whether the consequence is there wherever the condition is."""
    return ~Value.cast(condition).any() | Value.cast(consequence).any()


def past(m, value, *, init=0):
    """``value`` one cycle ago, ``init`` in the cycle after the reset."""
    value = Value.cast(value)
    before = Signal(len(value), init=init, name="past")
    m.d.sync += before.eq(value)
    return before


def constant(m, value):
    """An input as a number that is arbitrary but stays the same; returns it."""
    value = Value.cast(value)
    before = Signal(len(value), name="constant", reset_less=True)
    m.d.sync += before.eq(value)
    m.d.comb += given(value == before)
    return value


class _Top(wiring.Component):
    """The proof with free inputs, and its reset in the first cycle and in no other.

    Outputs are left open: what no property looks at is removed before the proof.
    """

    def __init__(self, proof):
        self._proof = proof
        self._inputs = {"__".join(map(str, path)): value
                        for path, member, value in proof.signature.flatten(proof)
                        if member.flow == In}
        super().__init__({name: In(len(Value.cast(value)))
                          for name, value in self._inputs.items()})

    def elaborate(self, platform):
        m = Module()
        m.submodules.proof = self._proof
        first = Signal(init=1, reset_less=True, name="formal_first")
        m.d.sync += first.eq(0)
        m.d.comb += Assume(ResetSignal() == first)
        m.d.comb += [Value.cast(value).eq(getattr(self, name))
                     for name, value in self._inputs.items()]
        return m


def _arbitrary_start(source: str) -> str:
    """RTLIL text without initial values of registers, except the one that makes the reset."""
    return re.sub(r"^ *attribute \\init [^\n]*\n(?!(?: *attribute [^\n]*\n)* *wire [^\n]*formal_)",
                  "", source, flags=re.MULTILINE)


def run(proof, name: str, *, depth: int, mode: str = "prove", solver: str = "bitwuzla") -> Outcome:
    """Run sby on a proof.

    Parameters
    ----------
    proof : wiring.Component
        Its input ports are free.
    name : str
        Names the folder ``build/formal/NAME``.
    depth : int
        Cycles: of the search from reset, and the largest ``k`` of the k-induction.
    mode : {"prove", "bmc"}
        Unbounded by k-induction, or bounded.
    solver : str
        One of ``SOLVERS``.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, not {solver!r}")
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    folder = RUNS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = rtlil.convert(_Top(proof), name="top")
    (folder / "design.il").write_text(_arbitrary_start(source))
    (folder / "task.sby").write_text(_TASK.format(mode=mode, depth=depth, solver=solver,
                                                  timeout=TIMEOUT))
    path = os.pathsep.join([str(programs()), os.environ["PATH"]])
    start = time.monotonic()
    done = subprocess.run([SBY, "-f", "task.sby"], cwd=folder, env=os.environ | {"PATH": path},
                          capture_output=True, text=True, check=False)
    return _outcome(done.stdout + done.stderr, time.monotonic() - start, folder)


def _outcome(log: str, seconds: float, folder: Path) -> Outcome:
    (folder / "log.txt").write_text(log)
    status = re.search(r"DONE \((\w+), rc=\d+\)", log)
    failed = dict.fromkeys(re.findall(r"(?:Assert|Unreached cover) failed[^\n]*?: ([^\n]*)", log))
    return Outcome(status[1] if status else "ERROR", seconds, tuple(failed), folder)


def prove(proof, name: str, **options) -> None:
    """Fail the test unless the proof succeeds; options as of :func:`run`."""
    __tracebackhide__ = True
    outcome = run(proof, name, **options)
    print(f"{name}: {outcome.status} in {outcome.seconds:.1f} s")
    if outcome.status != "PASS":
        traces = [str(path) for path in sorted(outcome.folder.rglob("trace*.vcd"))]
        pytest.fail("\n".join([
            f"{name}: {outcome.status}", *(f"failed: {where}" for where in outcome.failed),
            *(f"trace: {trace}" for trace in traces), f"log: {outcome.folder / 'log.txt'}",
        ]), pytrace=False)


def refute(proof, name: str, *, depth: int, solver: str = "bitwuzla") -> None:
    """Fail the test unless a counterexample is found within ``depth`` cycles of the reset."""
    __tracebackhide__ = True
    outcome = run(proof, name, depth=depth, mode="bmc", solver=solver)
    print(f"{name}: {outcome.status} in {outcome.seconds:.1f} s: {', '.join(outcome.failed)}")
    if outcome.status != "FAIL":
        pytest.fail(f"{name}: the broken design must fail, but sby says {outcome.status}; "
                    f"log: {outcome.folder / 'log.txt'}", pytrace=False)


def not_proven(proof, name: str, **options) -> None:
    """Fail the test if the proof succeeds.

    For designs that are broken so deep that no search from the reset gets there in seconds: the
    step of the induction, which succeeds for the design as it is, must find the way to break it.
    """
    __tracebackhide__ = True
    outcome = run(proof, name, **options)
    print(f"{name}: {outcome.status} in {outcome.seconds:.1f} s: {', '.join(outcome.failed)}")
    if outcome.status not in ("FAIL", "UNKNOWN") or not outcome.failed:
        pytest.fail(f"{name}: the broken design must not be proven, but sby says {outcome.status}; "
                    f"log: {outcome.folder / 'log.txt'}", pytrace=False)
