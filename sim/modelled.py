"""What the cycle model says of the runs in a recording."""
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from systolith.hw.isa import ENGINES, Command, Engine
from systolith.sim.trace import Trace
from systolith.sw.estimate import ExternalMemory, estimate


def recorded_programs(trace: Trace) -> Iterator[Mapping[Engine, Sequence[Command]]]:
    """The commands of each run in a recording: those that started between its borders."""
    for start, end in pairwise([*trace.runs["cycle"].tolist(), trace.cycles]):
        program = {}
        for engine in ENGINES:
            rows = trace.commands_of(engine)
            inside = (rows["start"] >= start) & (rows["start"] < end)
            program[engine] = [trace.program[engine][i] for i in rows["index"][inside].tolist()]
        yield program


def modelled_cycles(trace: Trace, external: ExternalMemory | None = None) -> int:
    """Cycles of all runs of a recording in the model, out of nothing but their commands and the
    external memory, by default that of the simulator."""
    return sum(estimate(trace.config, program, external).cycles
               for program in recorded_programs(trace))
