"""Where the cycles of the array went that did no useful work, by cause."""
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from systolith.hw.isa import Command, Engine, Function, Pass
from systolith.sim.measure import Measure
from systolith.sim.trace import State, Trace
from systolith.sw.compiler.schedule import CHANNELS

#: Causes and what they mean. Together with the useful work they make up all cycles.
CAUSES = {
    "padding": "cells without an operand, or whose product is no useful work",
    "masked": "scores that the causal mask takes out again, in tiles that it cuts",
    "start": "before the first beat of a run: commands, and the operands of the first product",
    "loads": "the array waits for operands from external memory",
    "vector": "the array waits for the vector unit",
    "commands": "between commands: no command is there, or too many are in flight",
    "port": "a beat cannot be issued",
    "end": "after the last beat of a run: depth of the pipelines, last passes, stores",
}

#: Decimals of a percentage.
DECIMALS = 3


def masked_macs(commands: Iterable[Command], head_dim: int) -> int:
    """Multiply-accumulates for scores between real positions that the causal mask takes out.

    Each costs ``head_dim`` in the scores and again in the mixed values. The passes that compute
    the powers say which scores there were.
    """
    cells = 0
    for command in commands:
        if isinstance(command, Pass) and command.causal and command.function == Function.EXP2:
            seen = np.minimum(command.valid, command.position + np.arange(command.rows) + 1)
            cells += command.rows * command.valid - int(seen.sum())
    return 2 * head_dim * cells


def array_cycles(trace: Trace) -> Counter[str]:
    """Cycles of the matrix engine: ``busy``, and those without a beat by cause."""
    found: Counter[str] = Counter()
    borders = [*trace.runs["cycle"].tolist(), trace.cycles]
    for start, end in pairwise(borders):
        found += _run_cycles(trace.part(start, end))
    return found


def _run_cycles(run: Trace) -> Counter[str]:
    rows = run.states_of(Engine.MATRIX)
    busy = rows[rows["state"] == State.BUSY]
    first = busy["start"].min(initial=run.cycles)
    last = busy["end"].max(initial=first)
    found: Counter[str] = Counter()
    for _, state, start, end, missing in rows.tolist():
        cause = "start" if end <= first else "end" if start >= last else _cause(state, missing)
        found[cause] += end - start
    return found


def _cause(state: int, missing: int) -> str:
    if state == State.BUSY:
        return "busy"
    if state == State.STALL:
        return "port"
    if state == State.WAIT and missing >> CHANNELS[Engine.MOVE, Engine.MATRIX] & 1:
        return "loads"
    if state == State.WAIT and missing >> CHANNELS[Engine.VECTOR, Engine.MATRIX] & 1:
        return "vector"
    return "commands"


def lost(measure: Measure, trace: Trace, head_dim: int = 0) -> dict[str, float]:
    """Percent of the cycles by cause, all of :data:`CAUSES`; with the percentage of useful work
    they add up to 100, but for the rounding of floating point.

    Parameters
    ----------
    measure : Measure
        Of the runs in the recording.
    trace : Trace
    head_dim : int
        Elements of a head; 0 where there is no causal mask.
    """
    peak, cycles = measure.config.peak_macs_per_cycle, array_cycles(trace)
    commands = (command for stream in trace.program.values() for command in stream)
    macs = {cause: cycles[cause] * peak for cause in CAUSES}
    macs["masked"] = masked_macs(commands, head_dim)
    macs["padding"] = cycles["busy"] * peak - measure.macs - macs["masked"]
    shares = percentages({"useful": measure.macs, **macs})
    del shares["useful"]
    return shares


def percentages(parts: Mapping[str, int]) -> dict[str, float]:
    """Parts of their sum in percent, rounded so that they still add up: the largest remainders
    are rounded up."""
    whole, unit = sum(parts.values()), 100 * 10 ** DECIMALS
    floors = {name: divmod(part * unit, whole) for name, part in parts.items()}
    short = unit - sum(floor for floor, _ in floors.values())
    up = sorted(floors, key=lambda name: -floors[name][1])[:short]
    return {name: (floor + (name in up)) / 10 ** DECIMALS for name, (floor, _) in floors.items()}
