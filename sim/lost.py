"""Where the cycles went in which the array did no useful work."""
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from systolith.hw.isa import ENGINES, Engine
from systolith.sim.trace import State, Trace

#: Every cause, and what it means.
CAUSES = {
    "before_first": "before the first product of a run",
    "loads": "the array waits for a move from or to external memory",
    "vector": "the array waits for the vector unit",
    "boundary": "between products: fetch, order among engines, the array's own pipeline",
    "commands": "the host has not sent the next product",
    "stall": "a product is active but cannot issue",
    "after_last": "after the last product of a run",
    "padding": "beats that are not all useful: ragged tiles, masked elements",
}

#: The cause of the cycles that are not lost.
BUSY = "busy"

#: Cycles from the last word of a command, or from its semaphores, to its first beat.
_START_CYCLES = 2

#: (start, end, cause): cycles with a cause of :data:`CAUSES`, or :data:`BUSY`.
Charge = tuple[int, int, str]


def lost_cycles(trace: Trace, macs: int) -> dict[str, float]:
    """Cycles lost by cause; together with the useful ones they are all cycles of the trace.

    A cycle in which the array waits for semaphores is charged to the engine that signals the one
    which comes last. Cycles of a run before its first beat and after its last are charged to
    ``before_first`` and ``after_last`` whatever the array does in them.

    Parameters
    ----------
    trace : Trace
        One run or several.
    macs : int
        Useful multiply-accumulates in it.

    Returns
    -------
    dict[str, float]
        A value for each key of :data:`CAUSES`. Their sum is ``cycles - macs / peak``.

    Raises
    ------
    ValueError
        When there are more useful multiply-accumulates than the array's beats can hold.
    """
    useful = macs / trace.config.peak_macs_per_cycle
    busy = trace.cycles_in(Engine.MATRIX, State.BUSY)
    if useful > busy:
        raise ValueError(f"{macs} useful multiply-accumulates need {useful:g} beats, but the array "
                         f"made {busy}; count the work of the recorded runs")
    lost: dict[str, float] = dict.fromkeys(CAUSES, 0)
    for start, end, cause in charges(trace):
        if cause != BUSY:
            lost[cause] += end - start
    lost["padding"] = busy - useful
    return lost


def charges(trace: Trace) -> Iterator[Charge]:
    """Every cycle of a trace with what the array's time in it is charged to, in order."""
    starts = trace.runs["cycle"].tolist()
    signals = [_signals(trace, semaphore) for semaphore in range(trace.config.semaphores)]
    for start, end in zip(starts, [*starts[1:], trace.cycles], strict=True):
        yield from _run(trace, start, end, signals)


def _signals(trace: Trace, semaphore: int) -> tuple[NDArray, NDArray]:
    """When a semaphore was signalled, in order, and the engine that did it each time."""
    ends, engines = [], []
    for engine in ENGINES:
        rows = trace.commands_of(engine)
        masks = [command.signal >> semaphore & 1 for command in trace.program[engine][:len(rows)]]
        chosen = rows["end"][np.array(masks, bool)]
        ends.append(chosen)
        engines.append(np.full(len(chosen), engine))
    times = np.concatenate(ends)
    order = np.argsort(times, kind="stable")
    return times[order], np.concatenate(engines)[order]


def _run(trace: Trace, start: int, end: int, signals) -> Iterator[Charge]:
    rows = trace.part(start, end).states_of(Engine.MATRIX)
    beats = rows[rows["state"] == State.BUSY]
    if not len(beats):
        yield start, end, "before_first"
        return
    first, last = int(beats["start"][0]), int(beats["end"][-1])
    if first > start:
        yield start, first, "before_first"
    between = rows[(rows["start"] >= first) & (rows["end"] <= last)]
    for _, state, since, until, missing in between.tolist():
        if state == State.IDLE:
            yield from _idle(trace, since, until)
        else:
            cause = BUSY if state == State.BUSY else _cause(state, since, missing, signals)
            yield since, until, cause
    if end > last:
        yield last, end, "after_last"


def _idle(trace: Trace, since: int, until: int) -> Iterator[Charge]:
    """Without a command: first as long as the queue was empty, then the rest."""
    fed = since + _unfed(trace, since, until - _START_CYCLES)
    if fed > since:
        yield since, fed, "commands"
    yield fed, until, "boundary"


def _cause(state: int, since: int, missing: int, signals) -> str:
    if state == State.STALL:
        return "stall"
    waited = [signals[index] for index in range(len(signals)) if missing >> index & 1]
    if state == State.FENCE or not waited:
        return "boundary"
    coming = [(int(times[place]), engines[place]) for times, engines in waited
              if (place := int(np.searchsorted(times, since, "right"))) < len(times)]
    if len(coming) < len(waited):
        return "commands"  # only the host can have signalled it
    return {Engine.MOVE: "loads", Engine.VECTOR: "vector"}.get(max(coming)[1], "boundary")


def _unfed(trace: Trace, start: int, end: int) -> int:
    """Cycles of an interval in which no word is in the array's queue."""
    if end <= start:
        return 0
    changes = trace.queues[Engine.MATRIX]
    first = max(int(np.searchsorted(changes["cycle"], start, "right")) - 1, 0)
    inside = changes[first:np.searchsorted(changes["cycle"], end)]
    borders = np.append(np.maximum(inside["cycle"], start), np.uint64(end))
    return int(np.diff(borders)[inside["value"] == 0].sum())
