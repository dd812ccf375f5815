"""Where everything is in the memories of the compact core, as its engine sees them."""
import enum
from dataclasses import dataclass

from systolith.hw.config import COMPACT_BYTES, TABLE_SEGMENTS, Config, Region
from systolith.hw.isa import ENGINES, WORDS
from systolith.hw.registers import REGISTER_BYTES

#: Bits of the engine's byte address; the upper two are a :class:`Space`.
ADDRESS_BITS = 19

#: Semaphores, a word each.
SEMAPHORES = 16

#: Bytes of a function table.
TABLE_BYTES = 8 * TABLE_SEGMENTS


class Space(enum.IntEnum):
    """The memories behind the engine's address."""

    SHARED = 0
    ACT = 1
    ACC = 2

    @property
    def base(self) -> int:
        """First byte."""
        return self << ADDRESS_BITS - 2


@dataclass(frozen=True)
class Layout:
    """Byte addresses of the engine: the memories of the ISA by region, external memory, queues by
    engine, registers, the semaphores as words, and the function tables: a word for each base and
    slope."""

    regions: dict[Region, int]
    external: int
    queues: tuple[int, ...]
    registers: int
    semaphores: int
    tables: int


def ring_bytes(config: Config, engine: int) -> int:
    """Bytes of the ring that holds a queue: whole commands, so that none is cut by the end."""
    words = WORDS[ENGINES[engine]]
    return 4 * words * -(-config.queue_depth // words)


def layout(config: Config) -> Layout:
    """Places of all that a configuration has.

    Raises
    ------
    ValueError
        When the shared memory is too small for it.
    """
    regions = {Region.ACT: Space.ACT.base, Region.ACC: Space.ACC.base}
    place = Space.SHARED.base
    for region in (Region.WGT, Region.VEC, Region.CONST, Region.ROW):
        regions[region] = place
        place += config.region_bytes(region)
    external, place = place, place + config.ext_bytes
    queues = []
    for engine in ENGINES:
        queues.append(place)
        place += ring_bytes(config, engine)
    registers, place = place, place + REGISTER_BYTES
    semaphores, place = place, place + 4 * SEMAPHORES
    tables, place = place, place + config.tables * TABLE_BYTES
    if place > COMPACT_BYTES:
        raise ValueError(f"the shared memory needs {place} bytes, but has {COMPACT_BYTES}")
    return Layout(regions, external, tuple(queues), registers, semaphores, tables)
