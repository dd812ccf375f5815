"""Cores whose engines wait for more senders than there are semaphores.

Such a core hears of the others with its move engine alone, which needs one semaphore a sender. A
Notify takes the signals of all senders that a command needs, and tells its engine. That costs the
way through a command, and the move engine does nothing else until all have come.
"""
from collections import defaultdict
from collections.abc import Sequence

from systolith.hw.isa import Engine, Notify
from systolith.sw.compiler.processes import Processes
from systolith.sw.compiler.signals import CHANNELS, Tokens
from systolith.sw.compiler.steps import Need, Step


def relieved(steps: Sequence[Step], tokens: Tokens, processes: Processes) -> list[Step] | None:
    """The steps with such Notifies, or None where no core needs any."""
    found = _waits(tokens, processes)
    if not found:
        return None
    result: list[Step] = []
    for step in steps:
        if id(step) in found:
            links = found[id(step)]
            told = Step(step.core, Notify(), links)
            step.needs = [need for need in step.needs if need not in links]
            step.needs.append((told, processes.engine(step.core, Engine.MOVE)))
            result.append(told)
        result.append(step)
    return result


def _waits(tokens: Tokens, processes: Processes) -> dict[int, list[Need]]:
    """What steps of crowded cores, by id, need of links, where another engine waits for it."""
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for link, waiter in tokens:
        if processes.is_link(link):
            pairs[processes.core(waiter)].append((link, waiter))
    room = processes.config.semaphores - len(CHANNELS)
    result: dict[int, list[Need]] = defaultdict(list)
    for core, own in pairs.items():
        for link, waiter in own if len(own) > room else ():
            if waiter != processes.engine(core, Engine.MOVE):
                for signaller, taker in tokens[link, waiter]:
                    result[id(taker)].append((signaller, link))
    return result
