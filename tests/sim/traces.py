"""Traces made by hand, for tests of what reads them."""
from collections.abc import Mapping, Sequence

import numpy as np

from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine
from systolith.sim.trace import CHANGES, COMMANDS, STATES, State, Trace

TINY = get_config("tiny")
IDLE, BUSY, STALL, WAIT, FENCE = State


def changes(*pairs):
    """Changes from (cycle, value)."""
    return np.array(list(pairs), CHANGES)


def make_trace(cycles: int, *, states: Sequence[tuple] = (), program: Mapping | None = None,
               commands: Sequence[tuple] = (), runs: Sequence[int] = (0,), queue: Sequence = ()):
    """A trace from states of the matrix engine (state, start, end, missing) and commands
    (engine, index, start, end); all else is quiet."""
    rows = [(Engine.MATRIX, *row) for row in states]
    rows += [(engine, IDLE, 0, cycles, 0) for engine in (Engine.MOVE, Engine.VECTOR)]
    quiet = changes((0, 0))
    return Trace(TINY, cycles, program={engine: (program or {}).get(engine, ())
                                        for engine in ENGINES},
                 commands=np.array(list(commands), COMMANDS), states=np.array(rows, STATES),
                 queues={engine: changes(*queue) if queue else quiet for engine in ENGINES},
                 semaphores=(quiet,) * TINY.semaphores, reads=quiet, writes=quiet,
                 runs=changes(*((cycle, 1000 + cycle) for cycle in runs)))
