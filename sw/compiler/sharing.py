"""Things shared out to the cores of a chip."""
from itertools import pairwise

from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.layout import ceil_div


def even(count: int, parts: int) -> list[Span]:
    """``count`` things in ``parts`` as even as possible, the first ones larger."""
    size, more = divmod(count, parts)
    starts = [part * size + min(part, more) for part in range(parts + 1)]
    return list(pairwise(starts))


def tiled(count: int, granule: int, parts: int) -> list[Span]:
    """``count`` things in parts of whole tiles of ``granule``; the last tile may be cut off."""
    return [(min(first * granule, count), min(last * granule, count))
            for first, last in even(ceil_div(count, granule), parts)]
