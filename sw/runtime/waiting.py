"""Says in words what each engine of a core waits for."""
from collections.abc import Mapping, Sequence

from systolith.hw.isa import ENGINES, WORDS, CommandError, Engine, decode, status_field
from systolith.sw.runtime.device import Counters


def describe(status: int, semaphores: Sequence[int], queues: Mapping[Engine, Sequence[int]],
             counters: Counters, before: Mapping[Engine, int]) -> str:
    """What each engine does, in one line.

    Parameters
    ----------
    status : int
        The STATUS register.
    semaphores : sequence of int
        Values of the semaphores.
    queues : mapping of Engine to sequence of int
        Command words of this run.
    counters : Counters
        Counters of this run.
    before : mapping of Engine to int
        Commands that each engine had retired since reset before this run.
    """
    return "; ".join(_engine(engine, status, semaphores, queues[engine],
                             counters.engines[engine].commands, before[engine])
                     for engine in ENGINES)


def _engine(engine: Engine, status: int, semaphores: Sequence[int], words: Sequence[int],
            retired: int, before: int) -> str:
    active = status_field(status, "active") >> engine & 1
    waiting = status_field(status, "waiting") >> engine & 1
    size = WORDS[engine]
    rest = words[retired * size:(retired + 1) * size]
    name = f"{engine.name} command {before + retired}"
    if not rest and not active:
        return f"{engine.name} has finished"
    if len(rest) < size:
        return f"{name} is incomplete: {len(rest)} of {size} words"
    try:
        command = decode(engine, rest)
    except CommandError as error:
        return f"{name}: {error}"
    if active:
        return f"{name} has not retired: {command}"
    if waiting:
        missing = [i for i in range(16) if command.wait >> i & 1
                   and (i >= len(semaphores) or semaphores[i] == 0)]
        return f"{name} waits for semaphore {', '.join(map(str, missing))}: {command}"
    return f"{name} has not started: {command}"
