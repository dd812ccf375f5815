"""Weight tiles of zeros: which are left out of a product, and where the others lie.

A pruned matrix has whole tiles of zeros. They are neither stored, nor fetched, nor multiplied: the
contraction of an output tile becomes runs of the tiles between them, a command each.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.layout import ceil_div, weight_tiles
from systolith.sw.reference.numerics import Ints

#: Cycles that a product command takes at least: its words are fetched one a cycle, and it is
#: offered to the engine afterwards. Longer ones follow each other without a gap.
COMMAND_CYCLES = 12


def contraction_runs(present: NDArray[np.bool_], rows: int) -> tuple[Span, ...]:
    """Runs of input tiles that are multiplied for one output tile: the cheapest choice.

    A gap is skipped when the beats saved outweigh a further command.

    Parameters
    ----------
    present : (input tiles,) bool
        Tiles that hold anything.
    rows : int
        Rows that are multiplied in one command, a beat each for every tile.

    Returns
    -------
    tuple of (first, one after the last)
        In order, at least one: an output tile of zeros multiplies one tile to clear its sums.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], present, [0]])))
    starts, ends = edges[::2].tolist(), edges[1::2].tolist()
    if not starts:
        return ((0, 1),)
    # best[i]: (cycles, commands, runs) of the first i stretches of present tiles.
    best: list[tuple[int, int, tuple[Span, ...]]] = [(0, 0, ())]
    for end in range(1, len(starts) + 1):
        best.append(min((before[0] + max(COMMAND_CYCLES, rows * (ends[end - 1] - starts[start])),
                         before[1] + 1, (*before[2], (starts[start], ends[end - 1])))
                        for start, before in enumerate(best)))
    return best[-1][2]


@dataclass(frozen=True)
class SparseWeight:
    """A right operand without the tiles that are left out.

    Parameters
    ----------
    runs : tuple
        Of each output tile, its runs of input tiles.
    data : bytes
        The tiles of all runs, output tile by output tile.
    elements : int
        Weights in the tiles that are not all zero, no padding: what is useful to multiply by.
    """

    runs: tuple[tuple[Span, ...], ...]
    data: bytes
    elements: int

    def kept(self, tile: int) -> int:
        """Words of one output tile."""
        return sum(end - start for start, end in self.runs[tile])

    def runs_in(self, tile: int, piece: Span) -> list[Span]:
        """The parts of one output tile's runs that lie in a piece of the contraction."""
        cut = [(max(start, piece[0]), min(end, piece[1])) for start, end in self.runs[tile]]
        return [(start, end) for start, end in cut if start < end]

    def place(self, tile: int, row: int) -> int:
        """Words of all tiles before the input tile ``row`` of an output tile."""
        return self.offset(tile) + sum(end - start for start, end in self.runs_in(tile, (0, row)))

    def offset(self, tile: int) -> int:
        """Words of all output tiles before one."""
        return sum(map(self.kept, range(tile)))

    @property
    def words(self) -> int:
        """Words of all tiles."""
        return self.offset(len(self.runs))

    def segments(self, tiles: Span) -> list[Span]:
        """Stretches of neighbouring output tiles that have the same runs."""
        first, last = tiles
        cuts = [tile for tile in range(first + 1, last) if self.runs[tile] != self.runs[tile - 1]]
        return list(zip([first, *cuts], [*cuts, last], strict=True))


def sparse_weight(weight: Ints, config: Config, rows: int) -> SparseWeight:
    """INT8 ``weight`` (in, out) for products of ``rows`` rows a command."""
    kt, nt = ceil_div(weight.shape[0], config.rows), ceil_div(weight.shape[1], config.cols)
    tiles = np.frombuffer(weight_tiles(weight, config), np.int8).reshape(nt, kt, -1)
    present: NDArray[np.bool_] = np.any(tiles, axis=2)
    runs = tuple(contraction_runs(present[tile], rows) for tile in range(nt))
    parts = [tiles[tile, start:end].tobytes()
             for tile, spans in enumerate(runs) for start, end in spans]
    heights = np.minimum(config.rows, weight.shape[0] - config.rows * np.arange(kt))
    widths = np.minimum(config.cols, weight.shape[1] - config.cols * np.arange(nt))
    elements = int((present * np.outer(widths, heights)).sum())
    return SparseWeight(runs, b"".join(parts), elements)
