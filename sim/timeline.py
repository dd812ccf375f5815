"""A trace as a timeline for Perfetto (https://ui.perfetto.dev), in Chrome's trace event format.

One cycle is one microsecond of the timeline, so all times are whole numbers. The format:
"Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from systolith.hw.isa import ENGINES, Command, Engine
from systolith.sim.commands.disasm import fields, semaphores
from systolith.sim.trace import State, Trace

Event = dict[str, Any]
#: The part of the model of each command, by engine; shorter than the commands where unknown.
Stages = Mapping[Engine, Sequence[str]]

#: Groups of tracks in the order in which they are shown; the numbers are process numbers.
ENGINE_TRACKS, QUEUE_TRACKS, SEMAPHORE_TRACKS, MEMORY_TRACKS = range(1, 5)
_GROUPS = {ENGINE_TRACKS: "Engines", QUEUE_TRACKS: "Queues",
           SEMAPHORE_TRACKS: "Semaphores", MEMORY_TRACKS: "External memory"}

_STATES = {State.BUSY: "busy", State.STALL: "stalled", State.FENCE: "fenced"}


def write_timeline(trace: Trace, stages: Stages, path: Path, start: int = 0,
                   end: int | None = None) -> int:
    """Write a timeline of the cycles from ``start`` up to ``end``; the number of its events."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ns", "otherData": '
                   + json.dumps({"unit": "1 us is 1 cycle", "config": trace.config.name,
                                 "cycles": trace.cycles})
                   + ', "traceEvents": [')
        for event in timeline(trace, stages, start, end):
            file.write(("," if count else "") + "\n" + json.dumps(event))
            count += 1
        file.write("\n]}\n")
    return count


def timeline(trace: Trace, stages: Stages, start: int = 0,
             end: int | None = None) -> Iterator[Event]:
    """The events: for each engine its commands within the part of the model that they belong to,
    and its states; arrows from the command that signals a semaphore to the one that takes it; and
    the levels of queues, semaphores and external memory.

    A command's slice lasts from its start to the start of the next, or its retirement: on one
    track slices must not overlap, though the results of a command are under way when the next one
    starts. ``retires`` among its arguments is the cycle of its retirement.
    """
    end = trace.cycles if end is None else end
    part = trace.part(start, end)
    yield from _names()
    for engine in ENGINES:
        names, issued = stages.get(engine, ()), issue_times(part, engine)
        yield from _stage_slices(part, engine, names, issued)
        yield from _command_slices(part, engine, names, issued)
        yield from _state_slices(part, engine)
    yield from (arrow for pair in _arrows(trace) for arrow in pair
                if pair[0]["ts"] >= start and pair[1]["ts"] < end)
    yield from _levels(part)


def issue_times(trace: Trace, engine: Engine) -> NDArray[np.int64]:
    """(commands, 2): when each command starts, and when the next one does or it has retired."""
    rows = trace.commands_of(engine)
    starts, ends = rows["start"].astype(np.int64), rows["end"].astype(np.int64)
    return np.stack([starts, np.minimum(ends, np.append(starts[1:], trace.cycles))], axis=1)


def _track(engine: Engine, states: bool = False) -> Event:
    return {"pid": ENGINE_TRACKS, "tid": 2 * engine + 1 + states}


def _names() -> Iterator[Event]:
    for pid, name in _GROUPS.items():
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
        yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}
    for engine in ENGINES:
        for states in (False, True):
            track = _track(engine, states)
            name = f"{engine.name} {'state' if states else 'commands'}"
            yield {"ph": "M", **track, "name": "thread_name", "args": {"name": name}}
            yield {"ph": "M", **track, "name": "thread_sort_index",
                   "args": {"sort_index": track["tid"]}}


def _slice(track: Event, name: str, start: int, end: int, args: Event) -> Event:
    return {"ph": "X", **track, "name": name, "ts": start, "dur": end - start, "args": args}


def _stage_slices(trace: Trace, engine: Engine, names: Sequence[str],
                  issued: NDArray) -> Iterator[Event]:
    """One slice for each run of commands of the same part of the model."""
    first = 0
    rows = trace.commands_of(engine)["index"].tolist()
    for place in range(1, len(rows) + 1):
        name = _stage(names, rows[first])
        if place == len(rows) or _stage(names, rows[place]) != name:
            if name and issued[place - 1, 1] > issued[first, 0]:
                yield _slice(_track(engine), name, int(issued[first, 0]),
                             int(issued[place - 1, 1]), {"commands": place - first})
            first = place


def _stage(names: Sequence[str], index: int) -> str:
    return names[index] if index < len(names) else ""


def _command_slices(trace: Trace, engine: Engine, names: Sequence[str],
                    issued: NDArray) -> Iterator[Event]:
    for row, (start, end) in zip(trace.commands_of(engine).tolist(), issued.tolist(), strict=True):
        if start == end:
            continue  # issued before the window, retires in it
        index, retires = row[1], row[3]
        command = trace.program[engine][index]
        yield _slice(_track(engine), f"{index} {describe(command)}", start, end, {
            "retires": retires, "part": _stage(names, index), "fence": bool(command.fence),
            "waits for": semaphores(command.wait), "signals": semaphores(command.signal),
            **{name: value for name, value in fields(command).items() if value}})


def describe(command: Command) -> str:
    """What a command does, in a few words."""
    shown = fields(command)
    match command.OPCODE.name:
        case "LOAD" | "STORE" as verb:
            return f"{verb} {shown['region']} {shown['rows']}x{shown['row_bytes']} B"
        case "PRODUCT":
            return "PRODUCT " + "x".join(str(shown[f"count{loop}"]) for loop in (2, 1, 0))
        case "PASS":
            steps = [str(shown[name]) for name in ("function", "combine", "reduce", "scalar")]
            steps = [step for step in steps if step != "NONE"]
            where = "" if shown["sink"] == "NONE" else f" to {shown['sink']}"
            return " ".join([f"PASS {shown['source']}", *steps]) + where
    return command.OPCODE.name


def _state_slices(trace: Trace, engine: Engine) -> Iterator[Event]:
    for _, state, start, end, missing in trace.states_of(engine).tolist():
        if state == State.WAIT:
            lacking = semaphores(missing)
            name = (f"waits for semaphore {', '.join(map(str, lacking))}" if lacking
                    else "waits for its turn")
            yield _slice(_track(engine, True), name, start, end, {"semaphores": lacking})
        elif state != State.IDLE:
            yield _slice(_track(engine, True), _STATES[State(state)], start, end, {})


def _arrows(trace: Trace) -> Iterator[tuple[Event, Event]]:
    """From each signal to the command that takes it: the first given is the first taken."""
    issued = {engine: issue_times(trace, engine) for engine in ENGINES}
    number = 0
    for semaphore in range(trace.config.semaphores):
        givers = _holders(trace, "signal", semaphore, "end")
        takers = _holders(trace, "wait", semaphore, "start")
        for (_, giver, given), (_, taker, taken) in zip(givers, takers, strict=False):
            common = {"cat": "semaphore", "name": f"semaphore {semaphore}", "id": number}
            # An arrow starts inside a slice: in the last cycle in which the command issues.
            yield ({"ph": "s", **_track(giver), "ts": int(issued[giver][given, 1]) - 1, **common},
                   {"ph": "f", "bp": "e", **_track(taker), "ts": int(issued[taker][taken, 0]),
                    **common})
            number += 1


def _holders(trace: Trace, mask: str, semaphore: int, when: str):
    """(time, engine, row) of the commands with a semaphore in a mask, in the order of time."""
    return sorted((int(row[when]), engine, place) for engine in ENGINES
                  for place, row in enumerate(trace.commands_of(engine))
                  if getattr(trace.program[engine][row["index"]], mask) >> semaphore & 1)


def _levels(trace: Trace) -> Iterator[Event]:
    for engine in ENGINES:
        yield from _counter(QUEUE_TRACKS, engine.name, "words", trace.queues[engine])
    for index, changes in enumerate(trace.semaphores):
        if changes["value"].any():
            yield from _counter(SEMAPHORE_TRACKS, f"semaphore {index}", "value", changes)
    for name, changes in (("read", trace.reads), ("written", trace.writes)):
        yield from _counter(MEMORY_TRACKS, name, "bytes", changes, trace.config.bus_bytes)


def _counter(pid: int, name: str, what: str, changes: NDArray,
             scale: int = 1) -> Iterator[Event]:
    for cycle, value in changes.tolist():
        yield {"ph": "C", "pid": pid, "name": name, "ts": cycle, "args": {what: value * scale}}
