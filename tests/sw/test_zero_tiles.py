"""Runs of weight tiles between those of zeros."""
import itertools

import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.sw.compiler.zero_tiles import (
    COMMAND_CYCLES,
    all_runs,
    contraction_runs,
    segments,
    sparse_weight,
)


def cycles(runs, rows):
    return sum(max(COMMAND_CYCLES, rows * (end - start)) for start, end in runs)


def cheapest(present, rows):
    """Cycles of the best choice of gaps to skip, by trying all."""
    cells = np.flatnonzero(present)
    cuts = [i for i in range(1, len(cells)) if cells[i] != cells[i - 1] + 1]
    best = None
    for chosen in itertools.product((False, True), repeat=len(cuts)):
        at = [0, *(cut for cut, take in zip(cuts, chosen, strict=True) if take), len(cells)]
        runs = [(cells[a], cells[b - 1] + 1) for a, b in itertools.pairwise(at)]
        best = min(best or cycles(runs, rows), cycles(runs, rows))
    return best


@pytest.mark.parametrize("rows", [1, 3, 7, 32])
def test_runs_cover_all_tiles_at_the_least_cost(rows):
    rng = np.random.default_rng(rows)
    for share in (0.2, 0.5, 0.8):
        for _ in range(20):
            present = rng.random(24) < share
            if not present.any():
                continue
            runs = contraction_runs(present, rows)
            covered = [tile for start, end in runs for tile in range(start, end)]
            assert covered == sorted(set(covered))
            assert set(np.flatnonzero(present)) <= set(covered)
            assert cycles(runs, rows) == cheapest(present, rows)


def test_a_column_of_zeros_keeps_one_tile():
    assert contraction_runs(np.zeros(5, dtype=bool), 4) == ((0, 1),)


def test_many_rows_skip_every_gap_and_one_row_only_long_ones():
    present = np.ones(60, dtype=bool)
    present[[13, 14]] = False
    present[40:] = False
    assert contraction_runs(present, COMMAND_CYCLES) == ((0, 13), (15, 40))
    assert contraction_runs(present, 1) == ((0, 13), (15, 40))
    assert contraction_runs(present[10:], 1) == ((0, 30),)


def test_tiles_lie_side_by_side():
    config = get_config("tiny")
    weight = np.ones((12, 8), dtype=np.int64)
    weight[4:8, :4] = 0
    sparse = sparse_weight(weight, config, rows=16)
    assert sparse.runs == (((0, 1), (2, 3)), ((0, 3),))
    assert (sparse.kept(0), sparse.offset(1), sparse.words) == (2, 2, 5)
    assert sparse.data == bytes([1] * 5 * 16)
    assert sparse.elements == 12 * 8 - 16
    assert sparse_weight(weight[:9, :7], config, rows=16).elements == 9 * 7 - 16
    assert segments(sparse.runs, (0, 2)) == [(0, 1), (1, 2)]
    assert segments(sparse.runs, (1, 2)) == [(1, 2)]


def test_pieces_of_a_contraction():
    config = get_config("tiny")
    weight = np.ones((24, 8), dtype=np.int64)
    weight[4:16, 4:] = 0
    sparse = sparse_weight(weight, config, rows=16)
    assert sparse.runs == (((0, 6),), ((0, 1), (4, 6)))
    assert sparse.runs_in(1, (0, 5)) == [(0, 1), (4, 5)]
    assert sparse.runs_in(1, (1, 4)) == []
    assert [sparse.place(1, row) for row in (0, 1, 3, 5, 6)] == [6, 7, 7, 8, 9]


def test_everything_is_multiplied_where_commands_cost_more():
    """One row: a column of 3 tiles is shorter than a command, all four columns together are not."""
    present = np.ones((4, 3), dtype=bool)
    present[::2, 1] = False
    assert all_runs(present, 1) == (((0, 3),),) * 4
    assert all_runs(present, 16) == (((0, 1), (2, 3)), ((0, 3),)) * 2
