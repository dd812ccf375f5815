"""The memory image: in external memory with the loads that fetch it, or straight in the core."""
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.isa import Command, Load, Store
from systolith.sw.compiler.allocate import Buffer, check_external
from systolith.sw.compiler.fields import Fields
from systolith.sw.runtime.device import Memory
from systolith.sw.runtime.program import Section

#: Largest ``row_bytes`` of a move.
MAX_RUN = (1 << 16) - 1


@dataclass(frozen=True)
class Place:
    """Where the host writes or reads bytes."""

    memory: Memory
    offset: int
    size: int


class Image:
    """Collects what the host writes before a run, in the order in which it is to be fetched.

    With external memory every piece lies there and :attr:`loads` fetch it. Without one, the host
    writes the pieces straight into the memories of the core, and there are no loads.

    Parameters
    ----------
    config : Config
    external : int
        First free byte of external memory, for cores that share it.
    """

    def __init__(self, config: Config, external: int = 0):
        self.config, self.external = config, external
        self.sections: list[Section] = []
        self.loads: list[Command] = []

    def add(self, name: str, buffer: Buffer, data: bytes) -> None:
        """Constant data of a buffer, and its load."""
        self.load(buffer, self.write(name, buffer, data), 0, buffer.words)

    def write(self, name: str, buffer: Buffer, data: bytes) -> Place:
        """Constant data of a buffer that :meth:`load` will fetch in parts."""
        place = self.place(buffer)
        if len(data) != place.size:
            raise ValueError(f"{name} has {len(data)} bytes for a buffer of {place.size}")
        self.sections.append(Section(name, place.memory, place.offset, data))
        return place

    def place(self, buffer: Buffer) -> Place:
        """Where the host writes or reads a buffer; :meth:`load` and :meth:`store` move it."""
        size = buffer.words * self.config.word_bytes(buffer.region)
        if not self.config.ext_bytes:
            return Place(buffer.region, buffer.base * self.config.word_bytes(buffer.region), size)
        place = Place("ext", self.external, size)
        # Sizes are multiples of memory words, so every offset stays a multiple of the bus width.
        self.external += size
        return place

    def load(self, buffer: Buffer, place: Place, first: int, words: int) -> None:
        """Fetch ``words`` words from the ``first`` of a buffer, after what was to be fetched."""
        if place.memory == "ext":
            self.loads.append(Load(**self._move(buffer, place, first, words)))

    def store(self, buffer: Buffer, place: Place, first: int, words: int) -> list[Command]:
        """The commands that store ``words`` words from the ``first`` of a buffer to its place."""
        if place.memory != "ext":
            return []
        return [Store(**self._move(buffer, place, first, words))]

    def check(self, what: str) -> None:
        """Raise :class:`CapacityError` when external memory is too small."""
        if self.config.ext_bytes:
            check_external(self.config, self.external, what)

    def _move(self, buffer: Buffer, place: Place, first: int, words: int) -> Fields:
        return move_fields(Buffer(buffer.region, buffer.base + first, words),
                           place.offset + first * self.config.word_bytes(buffer.region),
                           self.config)


def move_fields(buffer: Buffer, external: int, config: Config) -> Fields:
    """Fields of the move between a whole buffer and external memory from a byte address on: few
    long runs, both sides being contiguous."""
    word = config.word_bytes(buffer.region)
    size = buffer.words * word
    rows = next(rows for rows in range(-(-size // MAX_RUN), buffer.words + 1)
                if size % rows == 0 and size // rows % config.bus_bytes == 0)
    run = size // rows
    return {"region": int(buffer.region), "rows": rows, "row_bytes": run, "ext_base": external,
            "ext_stride": run, "stride": run, "base": buffer.base * word}
