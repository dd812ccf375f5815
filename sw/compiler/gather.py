"""What a core sends to the others that share a model with it."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Notify, Send
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.image import MAX_RUN


@dataclass(frozen=True, kw_only=True)
class Meet(Notify):
    """A place in each core's list, no command: what stands after it may need what any core sends
    before it."""


MEET = Meet()


class Area(NamedTuple):
    """A rectangle of cores: columns ``x_first`` to ``x_last`` of rows ``y_first`` to ``y_last``."""

    x_first: int
    x_last: int
    y_first: int
    y_last: int

    @classmethod
    def whole(cls, config: Config) -> "Area":
        """All cores of a chip."""
        return cls(0, config.mesh_width - 1, 0, config.mesh_height - 1)

    @property
    def cores(self) -> int:
        """How many there are."""
        return (self.x_last - self.x_first + 1) * (self.y_last - self.y_first + 1)


class Gather:
    """Sends of one core to others. All have the same places, so data keep their address.

    Parameters
    ----------
    config : Config
    number : int
        Of the core.
    area : Area, optional
        It and the others; by default all cores.
    """

    def __init__(self, config: Config, number: int, area: Area | None = None):
        self._config, self.number = config, number
        self.area = Area.whole(config) if area is None else area

    @property
    def alone(self) -> bool:
        """Whether there is no other core."""
        return self.area.cores == 1

    def rows(self, region: Region, base: int, words: int, block: Span, stride: int,
             target: int | None = None) -> Iterator[Command]:
        """Of each row of a block ``words`` words, ``stride`` words from row to row; ``base`` is
        those of row 0. To all other cores, or to the ``target``."""
        size = self._config.word_bytes(region)
        yield from self.send(region, (base + block[0] * stride) * size, block[1] - block[0],
                             words * size, stride * size, target=target)

    def send(self, region: Region, base: int, rows: int, row_bytes: int, stride: int, *,
             remote: tuple[Region, int] | None = None, remote_stride: int | None = None,
             target: int | None = None) -> Iterator[Command]:
        """Bytes of a memory to the same place of the other cores, or to a ``remote`` one, there
        ``remote_stride`` bytes from row to row; nothing where there is no other core."""
        if self.alone or target == self.number:
            return
        remote_stride = stride if remote_stride is None else remote_stride
        if stride == remote_stride == row_bytes and rows * row_bytes <= MAX_RUN:
            rows, row_bytes, stride = 1, rows * row_bytes, rows * row_bytes
            remote_stride = stride
        other, other_base = remote or (region, base)
        yield Send(region=int(region), rows=rows, row_bytes=row_bytes, base=base, stride=stride,
                   remote_region=int(other), remote_base=other_base, remote_stride=remote_stride,
                   remote_signal=0, **self._rectangle(target))

    def _rectangle(self, target: int | None) -> dict[str, int]:
        if target is None:
            return self.area._asdict()
        y, x = divmod(target, self._config.mesh_width)
        return Area(x, x, y, y)._asdict()


def in_order(cores: Sequence[Sequence[Command]]) -> list[tuple[int, Command]]:
    """The commands of all cores as one list of (core, command), in an order in which they could
    run one by one: up to the first meeting core by core, and so on."""
    stages = [_stages(commands) for commands in cores]
    return [(core, command) for stage in zip(*stages, strict=True)
            for core, commands in enumerate(stage) for command in commands]


def _stages(commands: Sequence[Command]) -> list[list[Command]]:
    stages: list[list[Command]] = [[]]
    for command in commands:
        if isinstance(command, Meet):
            stages.append([])
        else:
            stages[-1].append(command)
    return stages
