"""Commands in an order in which they could run one by one, and what each of them needs."""
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine
from systolith.sw.compiler.processes import Place, Processes, Touch, tracked


@dataclass(eq=False)
class Step:
    """A command of a core.

    Parameters
    ----------
    core : int
    command : Command
    needs : list of (Step, int)
        What it must come after: an earlier step, and the process whose part of it that is.
    place : int
        Index in its engine's stream, known once all are in order.
    fence : bool
    clock : (processes,)
        How many commands of each process are known to have retired when it starts.
    """

    core: int
    command: Command
    needs: "list[Need]" = field(default_factory=list)
    place: int = 0
    fence: bool = False
    clock: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def moves(self) -> bool:
        """Whether the move engine runs it."""
        return self.command.ENGINE == Engine.MOVE


#: An earlier step, and the process of which it must be known.
Need = tuple[Step, int]


def steps_of(commands: Iterable[tuple[int, Command]], config: Config) -> list[Step]:
    """A step for each (core, command), with all that data ask for.

    A read needs the word's last write; a write needs the last write and all reads since. Of all
    words and commands of one process the latest is enough, for a process does things in order.
    """
    steps, processes = [Step(core, command) for core, command in commands], Processes(config)
    groups = tracked([processes.touches(step.core, step.command) for step in steps])
    history = _History(touch for group in groups for touch in group)
    for index, (step, group) in enumerate(zip(steps, groups, strict=True)):
        latest: dict[int, int] = {}
        for touch in group:
            for process, earlier in history.earlier(touch):
                latest[process] = max(earlier, latest.get(process, -1))
        for touch in group:
            history.record(touch, index)
        step.needs = [(steps[earlier], process) for process, earlier in latest.items()
                      if earlier >= 0]
    return steps


class _History:
    """The last step in which each process wrote and read each word; -1 for none."""

    def __init__(self, touches: Iterable[Touch]):
        self._sizes: dict[Place, int] = defaultdict(int)
        for touch in touches:
            size = int(touch.access.words.max()) + 1
            self._sizes[touch.place] = max(self._sizes[touch.place], size)
        # [place, is a write][process]: the last step of each word.
        self._last: dict[tuple[Place, bool], dict[int, NDArray[np.int64]]] = defaultdict(dict)

    def earlier(self, touch: Touch) -> Iterable[tuple[int, int]]:
        """(process, its last step) that must come before this touch; -1 for none."""
        for write in (True, False):
            for process, last in self._last[touch.place, write].items():
                if _matters(touch, process, write):
                    yield process, int(last[touch.access.words].max())

    def record(self, touch: Touch, index: int) -> None:
        """Note a touch of the step ``index``."""
        table = self._last[touch.place, touch.access.write]
        if touch.process not in table:
            table[touch.process] = np.full(self._sizes[touch.place], -1, dtype=np.int64)
        table[touch.process][touch.access.words] = index


def _matters(touch: Touch, other: int, write: bool) -> bool:
    """Whether an earlier touch of the same words must be waited for."""
    if not write and not touch.access.write:
        return False
    # A process reads and writes in order, but a read may overtake the write before it. Tables are
    # used at another place of the pipeline than they are filled.
    return other != touch.process or touch.place[1] == "table" or not touch.access.write


def delay_moves(steps: Sequence[Step]) -> list[Step]:
    """The same steps with every load just before the first one that needs it, and every store as
    soon as what it needs and the moves before it have their places.

    Streams stay what they are, for the moves of a core keep their order and so do its others. But
    where semaphores are narrow, loads must wait for steps that stand before them in the list.
    """
    return _Delay(steps).order()


class _Delay:
    """Moves that wait for their place, core by core."""

    def __init__(self, steps: Sequence[Step]):
        self._steps = steps
        self._rank = {id(step): index for index, step in enumerate(steps)}
        self._waiting: dict[int, deque[Step]] = defaultdict(deque)
        for step in steps:
            if step.moves:
                self._waiting[step.core].append(step)
        self._placed: set[int] = set()
        self._order: list[Step] = []

    def order(self) -> list[Step]:
        for step in self._steps:
            if not step.moves:
                for move in self._due(step):
                    self._place(move)
                self._place(step)
                self._place_stores()
        rest = [step for moves in self._waiting.values() for step in moves]
        return self._order + sorted(rest, key=self._rank_of)

    def _rank_of(self, step: Step) -> int:
        return self._rank[id(step)]

    def _place(self, step: Step) -> None:
        self._order.append(step)
        self._placed.add(id(step))

    def _due(self, step: Step) -> list[Step]:
        """The moves that a step needs, those before them, and what these need in turn."""
        result, asked = list[Step](), [step]
        while asked:
            for needed, _ in asked.pop().needs:
                moves = self._waiting[needed.core]
                while needed.moves and moves and self._rank_of(moves[0]) <= self._rank_of(needed):
                    result.append(moves.popleft())
                    asked.append(result[-1])
        return sorted(result, key=self._rank_of)

    def _place_stores(self) -> None:
        for moves in self._waiting.values():
            while moves and moves[0].needs and all(id(needed) in self._placed
                                                   for needed, _ in moves[0].needs):
                self._place(moves.popleft())
