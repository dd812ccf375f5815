"""Semaphores and signals of the tokens that a schedule needs."""
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, Command, Engine, Notify, Remote
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.processes import Processes
from systolith.sw.compiler.steps import Step
from systolith.sw.reference.addressing import targets

#: Semaphore of each ordered pair (signalling engine, waiting engine) of a core.
CHANNELS = {pair: number for number, pair in enumerate(
    (a, b) for a in ENGINES for b in ENGINES if a != b)}

#: Streams of a core.
Streams = dict[Engine, list[Command]]

#: (signalling process, process of the waiting engine): (signaller, waiter) of each token in order.
Tokens = dict[tuple[int, int], list[tuple[Step, Step]]]


def notify(target: int, config: Config, mask: int = 0) -> Notify:
    """A signal to one core."""
    y, x = divmod(target, config.mesh_width)
    return Notify(x_first=x, x_last=x, y_first=y, y_last=y, remote_signal=mask)


def emit(steps: Sequence[Step], tokens: Tokens, processes: Processes) -> list[Streams]:
    """The streams of all cores: commands with their waits, signals and fences, and Notifies where
    a Send's targets wait for different semaphores.

    Raises
    ------
    CompileError
        When a core needs more semaphores than it has.
    """
    config, numbers = processes.config, _numbers(tokens, processes)
    wait: dict[int, int] = defaultdict(int)
    signal: dict[int, int] = defaultdict(int)
    remote: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for (process, waiter), channel in tokens.items():
        bit = 1 << numbers[process, waiter]
        for signaller, taker in channel:
            wait[id(taker)] |= bit
            if processes.is_link(process):
                remote[id(signaller)][processes.core(process)] |= bit
            else:
                signal[id(signaller)] |= bit
    streams: list[Streams] = [{engine: [] for engine in ENGINES} for _ in range(config.cores)]
    for step in steps:
        command = replace(step.command, wait=wait[id(step)], signal=signal[id(step)],
                          fence=int(step.fence))
        stream = streams[step.core][command.ENGINE]
        if isinstance(command, Remote):
            stream += _told(command, remote[id(step)], step.core, config)
        else:
            stream.append(command)
    return streams


def _told(command: Remote, masks: Mapping[int, int], sender: int, config: Config) -> list[Command]:
    """A command with what it signals to whom: by itself, where it reaches just those who wait and
    all wait for the same; else by Notifies behind it, as a signal arrives after data before it."""
    values = set(masks.values()) or {0}
    if len(values) == 1 and (not masks or sorted(masks) == targets(command, config, sender)):
        return [replace(command, remote_signal=values.pop())]
    return [replace(command, remote_signal=0),
            *(notify(target, config, mask) for target, mask in sorted(masks.items()))]


def _numbers(tokens: Tokens, processes: Processes) -> dict[tuple[int, int], int]:
    """A semaphore of the waiting core for each channel. Those of the engines are fixed; those of a
    sender and the same engine of others have one number where they can, for one signal to all."""
    result: dict[tuple[int, int], int] = {}
    alike: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for process, waiter in sorted(tokens):
        engine = waiter % len(ENGINES)
        if processes.is_link(process):
            alike[processes.source(process), engine].append((process, waiter))
        else:
            result[process, waiter] = CHANNELS[ENGINES[process % len(ENGINES)], ENGINES[engine]]
    free = _free_numbers(alike.values(), processes)
    for pairs in alike.values():
        cores = [processes.core(waiter) for _, waiter in pairs]
        common = set.intersection(*(free[core] for core in cores))
        for pair, core in zip(pairs, cores, strict=True):
            result[pair] = min(common or free[core])
            free[core].remove(result[pair])
    return result


def _free_numbers(alike: Iterable[list[tuple[int, int]]], processes: Processes) -> list[set[int]]:
    """Of each core the semaphores for other cores.

    Raises
    ------
    CompileError
        When a core needs more.
    """
    config, fixed = processes.config, len(CHANNELS)
    wanted = [processes.core(waiter) for pairs in alike for _, waiter in pairs]
    for core in range(config.cores):
        if fixed + wanted.count(core) > config.semaphores:
            raise CompileError(
                f"core {core} needs {fixed + wanted.count(core)} semaphores: {fixed} between its "
                f"engines and {wanted.count(core)} for pairs of a sending core and a waiting "
                f"engine; it has {config.semaphores}. Let fewer cores send to it")
    return [set(range(fixed, config.semaphores)) for _ in range(config.cores)]
