"""Weight tiles of zeros: which are left out of a product, and where the others lie.

A pruned matrix has whole tiles of zeros. They are neither stored, nor fetched, nor multiplied: the
contraction of an output tile becomes runs of the tiles between them, a command each.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import WORDS, Engine
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.layout import ceil_div, weight_tiles
from systolith.sw.reference.numerics import Ints

#: Cycles that a product command takes at least: one to fetch each word, one to take semaphores, one
#: until the engine takes it. Longer ones follow each other without a gap.
COMMAND_CYCLES = WORDS[Engine.MATRIX] + 2

#: Runs of input tiles that are multiplied for an output tile, in order.
Runs = tuple[Span, ...]


def contraction_runs(present: NDArray[np.bool_], rows: int) -> Runs:
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
        At least one: an output tile of zeros multiplies one tile to clear its sums.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], present, [0]])))
    starts, ends = edges[::2].tolist(), edges[1::2].tolist()
    if not starts:
        return ((0, 1),)
    # best[i]: (cycles, commands, runs) of the first i stretches of present tiles.
    best: list[tuple[int, int, Runs]] = [(0, 0, ())]
    for end in range(1, len(starts) + 1):
        best.append(min((before[0] + max(COMMAND_CYCLES, rows * (ends[end - 1] - starts[start])),
                         before[1] + 1, (*before[2], (starts[start], ends[end - 1])))
                        for start, before in enumerate(best)))
    return best[-1][2]


def all_runs(present: NDArray[np.bool_], rows: int) -> tuple[Runs, ...]:
    """:func:`contraction_runs` of every output tile; ``present`` is (output tiles, input tiles).

    Everything is multiplied where that takes fewer cycles: then it is one command.
    """
    runs = tuple(contraction_runs(each, rows) for each in present)
    cycles = sum(max(COMMAND_CYCLES, rows * (last - first) * (end - start))
                 for first, last in segments(runs, (0, len(runs))) for start, end in runs[first])
    return runs if cycles < rows * present.size else (((0, present.shape[1]),),) * len(present)


def segments(runs: tuple[Runs, ...], tiles: Span) -> list[Span]:
    """Stretches of neighbouring output tiles that have the same runs: one command a run."""
    first, last = tiles
    cuts = [tile for tile in range(first + 1, last) if runs[tile] != runs[tile - 1]]
    return list(zip([first, *cuts], [*cuts, last], strict=True))


@dataclass(frozen=True)
class SparseWeight:
    """A right operand without the tiles that are left out.

    Parameters
    ----------
    runs : tuple
        Of each output tile.
    data : bytes
        The tiles of all runs, output tile by output tile.
    elements : int
        Weights in the tiles that are not all zero, no padding: what is useful to multiply by.
    """

    runs: tuple[Runs, ...]
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


def _present(weight: Ints, config: Config) -> NDArray[np.bool_]:
    """Which tiles hold anything, (output tiles, input tiles)."""
    kt, nt = ceil_div(weight.shape[0], config.rows), ceil_div(weight.shape[1], config.cols)
    tiles = np.frombuffer(weight_tiles(weight, config), np.int8).reshape(nt, kt, -1)
    result: NDArray[np.bool_] = np.any(tiles, axis=2)
    return result


def useful_elements(weight: Ints, config: Config, *, rows: int | None = None,
                    columns: int | None = None) -> int:
    """Weights (in, out) in the tiles that are not all zero, no padding.

    Parameters
    ----------
    weight : (in, out) INT8
    config : Config
    rows, columns : int, optional
        So many of them, those of a head, begin a new tile; by default all lie together.
    """
    rows, columns = rows or weight.shape[0], columns or weight.shape[1]
    parts = [weight[i:i + rows, j:j + columns] for i in range(0, weight.shape[0], rows)
             for j in range(0, weight.shape[1], columns)]
    return sum(_useful_elements(part, config) for part in parts)


def _useful_elements(weight: Ints, config: Config) -> int:
    present = _present(weight, config)
    heights = np.minimum(config.rows,
                         weight.shape[0] - config.rows * np.arange(present.shape[1]))
    widths = np.minimum(config.cols, weight.shape[1] - config.cols * np.arange(len(present)))
    return int((present * np.outer(widths, heights)).sum())


def sparse_weight(weight: Ints, config: Config, rows: int) -> SparseWeight:
    """INT8 ``weight`` (in, out) for products of ``rows`` rows a command."""
    present = _present(weight, config)
    runs = all_runs(present, rows)
    tiles = np.frombuffer(weight_tiles(weight, config), np.int8).reshape(*present.shape, -1)
    parts = [tiles[tile, start:end].tobytes()
             for tile, spans in enumerate(runs) for start, end in spans]
    return SparseWeight(runs, b"".join(parts), useful_elements(weight, config))
