"""Which part of a model each command belongs to, for timelines and reports."""
from collections.abc import Iterable, Iterator

from systolith.hw.isa import ENGINES, Command, Engine


class Stages:
    """Names commands by the part of a model that a lowering writes them for.

    The scheduler keeps the order of each engine's commands, so the names of an engine's commands
    in the sequential list are those of its stream.
    """

    def __init__(self) -> None:
        self._open: list[str] = []
        self._names: dict[Engine, list[str]] = {engine: [] for engine in ENGINES}

    def mark(self, name: str, commands: Iterable[Command]) -> Iterator[Command]:
        """Pass commands on, each noted under ``name``; inside another mark, below its name."""
        outermost = not self._open
        self._open.append(name)
        for command in commands:
            if outermost:
                self._names[command.ENGINE].append(" ".join(self._open))
            yield command
        self._open.pop()

    def names(self) -> dict[Engine, tuple[str, ...]]:
        """The names, by engine, in the order of its commands."""
        return {engine: tuple(names) for engine, names in self._names.items()}
