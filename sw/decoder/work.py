"""What a run asks of each engine at least: what bounds each part of it."""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.isa import Command, Move, Pass, Product


@dataclass(frozen=True)
class Work:
    """A part of a run: the embedding, a layer, or the logits.

    ``array``, ``vector`` and ``memory`` are the cycles that the array, the vector unit and the bus
    of external memory need for it at least: one for every beat. No part can take less than the
    largest of them, which bounds it.
    """

    name: str
    array: int
    vector: int
    memory: int

    @property
    def bound(self) -> str:
        """``array``, ``vector`` or ``memory``: which needs most cycles."""
        return max(("array", "vector", "memory"), key=lambda engine: getattr(self, engine))

    @property
    def least(self) -> int:
        """Cycles that the part takes at least."""
        return int(getattr(self, self.bound))

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"part": self.name, "array_cycles": self.array, "vector_cycles": self.vector,
                "memory_cycles": self.memory, "bound": self.bound}


def work_of(name: str, commands: Iterable[Command], config: Config) -> Work:
    """Beats of the commands of a part."""
    array = vector = moved = 0
    for command in commands:
        if isinstance(command, Product):
            array += command.count0 * command.count1 * command.count2
        elif isinstance(command, Pass):
            vector += command.rows * command.beats
        elif isinstance(command, Move):
            moved += command.rows * command.row_bytes
    return Work(name, array, vector, moved // config.bus_bytes)


def work_by_layer(parts: Mapping[str, Sequence[Command]], config: Config) -> tuple[Work, ...]:
    """Beats of each layer, all its parts together, and of what is before and after the layers.

    Parameters
    ----------
    parts : mapping of name to commands
        In order; those of a layer are named ``layer 3 attention`` and so on.
    """
    layers: dict[str, list[Command]] = {}
    for name, commands in parts.items():
        words = name.split()
        layer = " ".join(words[:2]) if words[0] == "layer" else name
        layers.setdefault(layer, []).extend(commands)
    return tuple(work_of(name, commands, config) for name, commands in layers.items())


def total_work(runs: Sequence[Sequence[Work]]) -> tuple[Work, ...]:
    """The sum over several runs of one model, part by part."""
    return tuple(Work(parts[0].name, sum(part.array for part in parts),
                      sum(part.vector for part in parts), sum(part.memory for part in parts))
                 for parts in zip(*runs, strict=True))
