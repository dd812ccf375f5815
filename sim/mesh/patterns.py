"""Synthetic traffic: each pattern, and what no mesh can exceed under it.

Patterns and bounds follow Dally and Towles, *Principles and Practices of Interconnection Networks*
(2004): traffic as a matrix (section 3.2), throughput as one over the load of the fullest channel,
the bisection (3.3.1), and latency without load from the mean number of hops (3.3.2).
"""
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import ConfigError
from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.route import Port
from systolith.sim.mesh.routes import hops, link_loads, node_target

#: A matrix of shape (nodes, nodes): the share of a row's packets that goes to each column's node. A
#: row adds up to 1, or to less where the pattern aims at the node itself: nothing goes there.
Matrix = NDArray[np.float64]

#: Share of all packets that go to the hot node on top of the uniform rest.
HOT_SHARE = 0.1


@dataclass(frozen=True)
class Limits:
    """Bounds of the load, in packets a cycle of a node that always has a destination.

    Parameters
    ----------
    bisection : float
        Links that cross the middle, over the share of the packets that must cross them; the worse
        of both directions of both halvings. It holds for any routing.
    links : float
        One over the load of the fullest link when all go along the row first, then the column.
    ejection : float
        A node receives one packet a cycle: one over the sum of the fullest column.
    injection : float
        A node sends one packet a cycle.
    """

    bisection: float
    links: float
    ejection: float
    injection: float

    @property
    def name(self) -> str:
        """The bound that is the least; of equal ones, the first."""
        values = asdict(self)
        return min(values, key=lambda name: values[name])

    @property
    def least(self) -> float:
        """What a mesh of these routers cannot exceed."""
        return min(asdict(self).values())


def hot_node(config: MeshConfig) -> int:
    """The node in the middle, at which patterns with one special node aim."""
    return config.height // 2 * config.width + config.width // 2


def uniform(config: MeshConfig) -> Matrix:
    """Any other node, equally often (Dally and Towles, table 3.1: random)."""
    return _others(np.full((config.nodes, config.nodes), 1 / max(config.nodes - 1, 1)))


def transpose(config: MeshConfig) -> Matrix:
    """From (x, y) to (y, x) (table 3.1: matrix transpose); the mesh must be a square, on whose
    diagonal nobody sends."""
    if config.width != config.height:
        raise ConfigError("pattern transpose needs as many rows as columns, not "
                          f"{config.width}x{config.height}; choose a square or another pattern")
    y, x = np.divmod(np.arange(config.nodes), config.width)
    return _permutation(x * config.width + y)


def hot_spot(config: MeshConfig) -> Matrix:
    """Uniform, but 10 % of all packets go to the node in the middle."""
    matrix = (1 - HOT_SHARE) * uniform(config)
    matrix[:, hot_node(config)] += HOT_SHARE
    return _others(matrix)


def all_to_one(config: MeshConfig) -> Matrix:
    """All nodes to the one in the middle: the hot spot's extreme."""
    return _permutation(np.full(config.nodes, hot_node(config)))


def neighbour(config: MeshConfig) -> Matrix:
    """To the next node of the row, the last one to the first (table 3.1: neighbor)."""
    y, x = np.divmod(np.arange(config.nodes), config.width)
    return _permutation(y * config.width + (x + 1) % config.width)


def _permutation(destinations: NDArray) -> Matrix:
    return _others(np.eye(len(destinations))[destinations])


def _others(matrix: Matrix) -> Matrix:
    """Without what nodes would send to themselves."""
    return matrix * (1 - np.eye(len(matrix)))


#: All patterns by the names that the command line has.
PATTERNS: dict[str, Callable[[MeshConfig], Matrix]] = {
    "uniform": uniform, "transpose": transpose, "hot-spot": hot_spot, "all-to-one": all_to_one,
    "neighbour": neighbour,
}


def zero_load_latency(config: MeshConfig, matrix: Matrix) -> float:
    """Mean cycles from acceptance to arrival in an idle mesh: a cycle a link, and one."""
    return float((matrix * hops(config)).sum() / matrix.sum()) + 1


def limits(config: MeshConfig, matrix: Matrix) -> Limits:
    """Bounds of the load of a pattern."""
    sources, destinations = np.nonzero(matrix)
    loads = link_loads(config, sources, node_target(config, destinations),
                       matrix[sources, destinations])
    between = np.delete(loads, Port.LOCAL, axis=1)
    return Limits(bisection=_rate(_across_middle(config, matrix)), links=_rate(between.max()),
                  ejection=_rate(matrix.sum(0).max()), injection=1.0)


def _across_middle(config: MeshConfig, matrix: Matrix) -> float:
    """Packets on each link of the fullest half of a bisection, were they spread evenly."""
    y, x = np.divmod(np.arange(config.nodes), config.width)
    loads = [0.0]
    for near, links, size in ((x < config.width // 2, config.height, config.width),
                              (y < config.height // 2, config.width, config.height)):
        if size > 1:
            loads += [matrix[np.ix_(near, ~near)].sum() / links,
                      matrix[np.ix_(~near, near)].sum() / links]
    return max(loads)


def _rate(load: float) -> float:
    return float(1 / load) if load else float("inf")


def draw(rng: np.random.Generator, matrix: Matrix, sources: NDArray) -> NDArray[np.int64]:
    """A destination for each packet of these senders, which must have one.

    A cumulated row has its share of the range from its node's number to the next.
    """
    nodes = len(matrix)
    cumulated = matrix.cumsum(1)
    cumulated /= np.where(cumulated[:, -1:], cumulated[:, -1:], 1)
    flat = (cumulated + np.arange(nodes)[:, None]).ravel()
    found = np.searchsorted(flat, sources + rng.random(len(sources)), side="right")
    return np.minimum(found - sources * nodes, nodes - 1)
