"""What a program asks of each resource, whatever the order."""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from systolith.hw.config import TABLE_SEGMENTS, Config
from systolith.hw.isa import Command, Engine, Move, Notify, Pass, Product, Remote, Send


@dataclass(frozen=True)
class Work:
    """Cycles that each resource works at least.

    ``array`` and ``vector`` are beats of products and passes, ``moves`` those of loads, stores and
    sends; ``memory`` is the time of those at the rate of bus and external memory.
    """

    array: int
    vector: int
    moves: int
    memory: int
    move_bytes: int

    @property
    def limits(self) -> dict[str, int]:
        """Least cycles by resource."""
        return {"array": self.array, "vector": self.vector, "memory": self.memory}

    @property
    def bound(self) -> str:
        """The resource that needs the most."""
        return max(self.limits, key=lambda name: self.limits[name])


def work_of(streams: Mapping[Engine, Sequence[Command]], config: Config, gap: float) -> Work:
    """The work of a program; ``gap``: cycles from beat to beat at the external memory's rate."""
    sums = {engine: _beats(streams.get(engine, ()), config)
            for engine in (Engine.MATRIX, Engine.VECTOR, Engine.MOVE)}
    moves = sums[Engine.MOVE]
    sent = _beats((each for each in streams.get(Engine.MOVE, ()) if isinstance(each, Remote)),
                  config)
    return Work(array=sums[Engine.MATRIX], vector=sums[Engine.VECTOR], moves=moves,
                memory=round((moves - sent) * gap) + sent, move_bytes=moves * config.bus_bytes)


def _beats(commands: Iterable[Command], config: Config) -> int:
    return sum(beats(command, config) for command in commands)


def beats(command: Command, config: Config) -> int:
    """Beats of a command: cycles in which its engine is busy."""
    if isinstance(command, Product):
        return command.count0 * command.count1 * command.count2
    if isinstance(command, Pass):
        return command.rows * command.beats
    if isinstance(command, Notify):
        return 0
    if isinstance(command, Move | Send):
        return command.rows * (command.row_bytes // config.bus_bytes)
    return TABLE_SEGMENTS
