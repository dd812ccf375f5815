"""A trace by the parts of the model: cycles, beats, bytes and lost cycles of each."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from systolith.hw.isa import ENGINES, Engine, Move
from systolith.sim.lost import BUSY, charges
from systolith.sim.trace import State, Trace

#: Name of what belongs to no named part.
OTHER = "other"


@dataclass
class Part:
    """Cycles, bytes and beats of one part of a model, over all runs.

    Attributes
    ----------
    name : str
    cycles : dict[str, int]
        By what they are charged to: :data:`systolith.sim.lost.BUSY`, in which the array makes a
        beat each, or a key of :data:`systolith.sim.lost.CAUSES`.
    move_bytes : int
        Bytes that the part's commands move from and to external memory.
    """

    name: str
    cycles: dict[str, int] = field(default_factory=dict)
    move_bytes: int = 0

    @property
    def total(self) -> int:
        """All cycles."""
        return sum(self.cycles.values())

    @property
    def beats(self) -> int:
        """Cycles in which the array worked."""
        return self.cycles.get(BUSY, 0)


def parts(trace: Trace, stages: Mapping[Engine, Sequence[str]]) -> list[Part]:
    """The parts in the order in which the array first works for them.

    Time is divided by the array's commands: a part has the cycles from the end of the part before
    to the end of its own last product, so a wait belongs to the part whose product waits. What
    comes after the last product of a run belongs to that product's part.
    """
    found: dict[str, Part] = {}
    segments = list(_segments(trace, stages))
    place = 0
    for start, end, cause in charges(trace):
        while start < end:
            name, border = segments[place]
            part = found.setdefault(name, Part(name))
            until = min(end, border)
            part.cycles[cause] = part.cycles.get(cause, 0) + until - start
            start = until
            place += start == border
    _count_bytes(trace, stages, found)
    return list(found.values())


def _segments(trace: Trace, stages: Mapping[Engine, Sequence[str]]) -> Iterator[tuple[str, int]]:
    """(part, end): who the array works for, up to when."""
    rows, states = trace.commands_of(Engine.MATRIX), trace.states_of(Engine.MATRIX)
    busy = states[states["state"] == State.BUSY]
    run_starts = trace.runs["cycle"].tolist()
    for run_start, run_end in zip(run_starts, [*run_starts[1:], trace.cycles], strict=True):
        own = rows[(rows["start"] >= run_start) & (rows["start"] < run_end)]
        names = [_name(stages, Engine.MATRIX, index) for index in own["index"].tolist()]
        for (before, after), start in zip(pairwise(names), own["start"][1:].tolist(), strict=True):
            if before != after:
                # The array's last beat before; beats without a gap are one row of states.
                last = busy["end"][np.searchsorted(busy["start"], start) - 1]
                yield before, min(int(last), start)
        yield names[-1] if names else OTHER, run_end


def _name(stages: Mapping[Engine, Sequence[str]], engine: Engine, index: int) -> str:
    names = stages.get(engine, ())
    return names[index] if index < len(names) else OTHER


def _count_bytes(trace: Trace, stages: Mapping[Engine, Sequence[str]],
                 found: dict[str, Part]) -> None:
    for engine in ENGINES:
        for index in trace.commands_of(engine)["index"].tolist():
            command = trace.program[engine][index]
            if isinstance(command, Move):
                name = _name(stages, engine, index)
                part = found.setdefault(name, Part(name))
                part.move_bytes += command.rows * command.row_bytes
