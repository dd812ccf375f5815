"""A march test of memories: finds bits that stick, and words that share an address."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import MEMORIES, Region
from systolith.sw.runtime.device import Device, Memory

#: Bytes at each end of a memory that a short test takes.
SHORT_BYTES = 1024

#: What is written, to all words each: its bits in both states, next to equal and other neighbours.
PATTERNS = (0x00000000, 0xFFFFFFFF, 0x55555555, 0xAAAAAAAA)


@dataclass(frozen=True)
class March:
    """What a test of one memory found. ``first_wrong`` is a byte offset, or None."""

    memory: str
    tested: int
    wrong: int
    first_wrong: int | None


def memories(device: Device) -> list[Memory]:
    """Those that a host can both write and read."""
    external: list[Memory] = ["ext"] if device.size("ext") else []
    return [*(region for region in MEMORIES if region is not Region.ACC), *external]


def march(device: Device, memory: Memory, *, full: bool = False) -> March:
    """Write and read a memory; its content is lost.

    Every part is written with each pattern, each read before the next is written; then each word
    with its own address, which is read when all have been written.

    Parameters
    ----------
    full : bool
        Test all; else ``SHORT_BYTES`` at either end, and the words whose addresses are powers of
        two, so that every address line counts.
    """
    parts = list(_parts(device.size(memory), full))
    wrong = {offset for pattern in PATTERNS
             for offset in _check(device, memory, [(start, np.full(count, pattern, "<u4"))
                                                   for start, count in parts])}
    # The lowest bits are known to work by now, and an address has no more than the word.
    wrong |= set(_check(device, memory, [
        (start, np.arange(start, start + 4 * count, 4, dtype=np.int64).astype("<u4"))
        for start, count in parts]))
    name = memory.name if isinstance(memory, Region) else memory
    return March(name, 4 * sum(count for _, count in parts), len(wrong), min(wrong, default=None))


def _parts(size: int, full: bool) -> Iterator[tuple[int, int]]:
    """Byte offsets and words of what is tested."""
    if full or size <= 4 * SHORT_BYTES:
        yield 0, size // 4
        return
    yield 0, SHORT_BYTES // 4
    offset = SHORT_BYTES
    while offset < size - SHORT_BYTES:
        yield offset, 1
        offset *= 2
    yield size - SHORT_BYTES, SHORT_BYTES // 4


def _check(device: Device, memory: Memory,
           parts: Sequence[tuple[int, NDArray[np.uint32]]]) -> Iterator[int]:
    """Write all parts, then read them; offsets of words that differ."""
    for start, words in parts:
        device.write(memory, start, words.tobytes())
    for start, words in parts:
        got = np.frombuffer(device.read(memory, start, words.nbytes), "<u4")
        yield from (start + 4 * int(index) for index in np.nonzero(got != words)[0])
