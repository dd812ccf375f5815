"""Places in the memories of a core, and the message when one is too small."""
from collections.abc import Callable
from dataclasses import dataclass

from systolith.hw.config import Config, Region
from systolith.hw.configs import SIMULATED
from systolith.sw.compiler.errors import CompileError

#: How messages call the memories.
NAMES = {Region.ACT: "activation", Region.WGT: "weight", Region.VEC: "vector",
         Region.CONST: "column constant", Region.ROW: "row constant", Region.ACC: "accumulator"}


class CapacityError(CompileError):
    """Something does not fit into a memory."""


@dataclass(frozen=True)
class Buffer:
    """Words ``base`` to ``base + words`` of a memory."""

    region: Region
    base: int
    words: int


class Allocator:
    """Hands out words of every memory, one after the other.

    Asking for too much is no error until :meth:`check`, so that the message can name the whole
    need.

    Parameters
    ----------
    config : Config
    """

    def __init__(self, config: Config):
        self.config = config
        self._used = dict.fromkeys(NAMES, 0)

    def take(self, region: Region, words: int) -> Buffer:
        """The next ``words`` words of a memory."""
        base = self._used[region]
        self._used[region] += words
        return Buffer(region, base, words)

    def several(self, count: int, region: Region, words: int) -> tuple[Buffer, ...]:
        """``count`` buffers of ``words`` words each."""
        return tuple(self.take(region, words) for _ in range(count))

    def free(self, region: Region) -> int:
        """Words of a memory that are left; negative when too much has been taken."""
        return self.config.depth(region) - self._used[region]

    def check(self, what: str) -> None:
        """Raise :class:`CapacityError` for the first memory that is too small."""
        for region, words in self._used.items():
            check_capacity(self.config, region, words, what)


def check_capacity(config: Config, region: Region, words: int, what: str) -> None:
    """Raise :class:`CapacityError` when a memory has fewer than ``words`` words."""
    depth, size = config.depth(region), config.word_bytes(region)
    if words > depth:
        raise CapacityError(
            f"{what} needs {words} words ({words * size} bytes) of {NAMES[region]} memory, but "
            f"configuration {config.name!r} has {depth} words ({depth * size} bytes)")


def check_external(config: Config, size: int, what: str) -> None:
    """Raise :class:`CapacityError` when the external memory has fewer than ``size`` bytes."""
    if size > config.ext_bytes:
        raise CapacityError(f"{what} needs {size} bytes of external memory, but configuration "
                            f"{config.name!r} has {config.ext_bytes} bytes")


def total_bytes(config: Config) -> int:
    """Bytes of all memories of a core."""
    return sum(config.region_bytes(region) for region in NAMES)


def with_advice(error: CapacityError, fits: Callable[[Config], object]) -> CompileError:
    """The error with the smallest named configuration for which ``fits`` raises none."""
    for config in sorted(SIMULATED.values(), key=total_bytes):
        try:
            fits(config)
        except CapacityError:
            continue
        return CompileError(f"{error}; the nearest configuration that fits is {config.name!r}")
    return CompileError(f"{error}; none of the named configurations ({', '.join(SIMULATED)}) fits: "
                        "make it smaller or enlarge that memory")
