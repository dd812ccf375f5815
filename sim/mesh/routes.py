"""Which links a packet takes, by the rule of the routers: along its row first, then the column."""
import numpy as np
from numpy.typing import ArrayLike, NDArray

from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.route import Port


def target(x_first, x_last, y_first, y_last):
    """The field ``target`` of a packet for a rectangle of nodes; numbers or arrays."""
    return x_first | x_last << 4 | y_first << 8 | y_last << 12


def ends(targets: ArrayLike) -> NDArray[np.int64]:
    """The inverse of :func:`target`: x_first, x_last, y_first, y_last, shape (4, ...)."""
    return np.stack([np.asarray(targets, np.int64) >> at & 15 for at in (0, 4, 8, 12)])


def node_target(config: MeshConfig, nodes: NDArray) -> NDArray:
    """The field ``target`` of packets for one node each."""
    y, x = np.divmod(nodes, config.width)
    return target(x, x, y, y)


def receivers(targets: ArrayLike) -> NDArray[np.int64]:
    """How many nodes each target has, the sender's own too if it is among them."""
    x_first, x_last, y_first, y_last = ends(targets)
    return (x_last - x_first + 1) * (y_last - y_first + 1)


def hops(config: MeshConfig) -> NDArray[np.int64]:
    """Links between each two nodes, shape (nodes, nodes)."""
    y, x = np.divmod(np.arange(config.nodes), config.width)
    return abs(x[:, None] - x) + abs(y[:, None] - y)


def link_loads(config: MeshConfig, sources: ArrayLike, targets: ArrayLike,
               weights: ArrayLike = 1) -> NDArray[np.float64]:
    """What leaves each port of each router.

    Parameters
    ----------
    config : MeshConfig
        Sizes of the mesh.
    sources : array_like of int, shape (packets,)
        Nodes that send.
    targets : array_like of int, shape (packets,)
        Where to, as :func:`target` has it.
    weights : array_like of float, shape (packets,)
        How often each is sent, or at which rate.

    Returns
    -------
    ndarray of float64, shape (nodes, 5)
        Sums of the weights; columns as in :class:`Port`, of which LOCAL leads to the node.
    """
    # Packets of one way count together: their number is that of the nodes, not of the run.
    keys, which = np.unique(np.stack([sources, targets]), axis=1, return_inverse=True)
    counts = np.bincount(which.ravel(), np.broadcast_to(weights, which.size))
    source_y, source_x = (each[:, None] for each in np.divmod(keys[0], config.width))
    x_first, x_last, y_first, y_last = ends(keys[1])[..., None]
    y, x = np.divmod(np.arange(config.nodes), config.width)
    in_row, in_column = y == source_y, (x_first <= x) & (x <= x_last)
    ways = {
        Port.LOCAL: in_column & (y_first <= y) & (y <= y_last) & ~(in_row & (x == source_x)),
        Port.NORTH: in_column & (y_first < y) & (y <= source_y),
        Port.EAST: in_row & (source_x <= x) & (x < x_last),
        Port.SOUTH: in_column & (source_y <= y) & (y < y_last),
        Port.WEST: in_row & (x_first < x) & (x <= source_x),
    }
    return np.stack([counts @ ways[port] for port in Port], axis=1)
