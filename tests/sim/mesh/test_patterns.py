"""Patterns and their bounds against what can be worked out by hand."""
import numpy as np
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.patterns import (
    PATTERNS,
    Limits,
    draw,
    limits,
    transpose,
    zero_load_latency,
)

SQUARE = MeshConfig(width=4, height=4)

#: Bounds of a 4x4 mesh: injection, ejection, bisection, links.
BOUNDS = {
    # Of a half's 8 packets, 8 / 15 cross over 4 links.
    "uniform": (1, 1, 15 / 16, 15 / 16),
    # Three nodes of the first row turn south in its first column; 4 of 6 packets cross a middle.
    "transpose": (1, 1, 1, 1 / 3),
    # The hot node gets 15 x (0.1 + 0.9 / 15); 8 x (0.1 + 0.48) cross 4 links. Of the two rows
    # above it, its column gets 8 x (0.1 + 2 x 0.9 / 15).
    "hot-spot": (1, 1 / 2.4, 4 / 4.64, 1 / 1.76),
    # 15 packets for one node; 8 cross 4 links, all in the node's column.
    "all-to-one": (1, 1 / 15, 0.5, 1 / 8),
    # One eastwards over each link, and one back westwards.
    "neighbour": (1, 1, 1, 1),
}
#: Packets of a 4x4 mesh: where the pattern aims at the node itself, it sends nothing.
SENT = {"uniform": 16, "transpose": 12, "hot-spot": 15.9, "all-to-one": 15, "neighbour": 16}
#: Mean hops of these packets, and one. All nodes are 32 hops from the one in the middle.
LATENCY = {"uniform": 40 / 15 + 1, "transpose": 40 / 12 + 1,
           "hot-spot": (16 * 0.9 * 40 / 15 + 0.1 * 32) / 15.9 + 1, "all-to-one": 32 / 15 + 1,
           "neighbour": 2.5}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_row_is_what_a_node_sends(name):
    matrix = PATTERNS[name](SQUARE)
    assert matrix.shape == (16, 16)
    assert (matrix >= 0).all()
    assert (np.diag(matrix) == 0).all()
    assert (matrix.sum(1) < 1 + 1e-9).all()
    assert matrix.sum() == pytest.approx(SENT[name])


@pytest.mark.parametrize("name", PATTERNS)
def test_bounds_of_a_square(name):
    matrix = PATTERNS[name](SQUARE)
    found = limits(SQUARE, matrix)
    assert [found.injection, found.ejection, found.bisection, found.links] == pytest.approx(
        BOUNDS[name])
    assert found.least == min(BOUNDS[name])
    assert zero_load_latency(SQUARE, matrix) == pytest.approx(LATENCY[name])


def test_the_least_bound_has_a_name():
    found = Limits(injection=1, ejection=0.5, bisection=0.25, links=0.25)
    assert (found.name, found.least) == ("bisection", 0.25)


def test_without_links_they_bound_nothing():
    one = MeshConfig(width=1, height=1)
    found = limits(one, PATTERNS["uniform"](one))
    assert (found.bisection, found.links, found.least) == (np.inf, np.inf, 1)


@pytest.mark.parametrize("name", PATTERNS)
def test_packets_are_drawn_as_the_matrix_has_it(name):
    matrix = PATTERNS[name](SQUARE)
    sent = matrix.sum(1)
    nodes = np.repeat(np.flatnonzero(sent), 4000)
    drawn = draw(np.random.default_rng(1), matrix, nodes)
    shares = np.zeros((16, 16))
    np.add.at(shares, (nodes, drawn), sent[nodes] / 4000)
    assert abs(shares - matrix).max() < 0.03
    assert (shares[matrix == 0] == 0).all()


def test_only_a_square_is_transposed():
    with pytest.raises(ConfigError, match="needs as many rows as columns, not 4x2"):
        transpose(MeshConfig(width=4, height=2))
