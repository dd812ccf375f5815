"""All-gather on a simulated mesh: each node sends its part of an array to all others.

The bound is physical: every node must receive what the others have, (n - 1) / n of the array, over
its one link from the router, which moves ``bus_bytes`` a cycle. No link between routers carries
more: downwards, the last of a column of W x H nodes gets what W * (H - 1) of them have.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import ConfigError
from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.player import PACKET, MeshPlayer
from systolith.sim.mesh.routes import link_loads, target
from systolith.sim.text import number, print_facts

#: The array that the project's target names: 128 rows of 384 bytes.
ARRAY_BYTES = 128 * 384


@dataclass(frozen=True)
class Gathered:
    """An all-gather that ran.

    Parameters
    ----------
    array_bytes, cycles : int
        From the first acceptance of a packet to the last arrival, both counted.
    bound_cycles : float
        What a node needs to receive what the others have, at ``bus_bytes`` a cycle.
    name : str
        What the report calls it.
    """

    array_bytes: int
    cycles: int
    bound_cycles: float
    name: str = "all-gather"

    @property
    def share(self) -> float:
        """Bytes that a node receives a cycle, as a part of what a link moves."""
        return self.bound_cycles / self.cycles

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"bytes": self.array_bytes, "cycles": self.cycles,
                "bound_cycles": self.bound_cycles,
                "percent_of_link": round(100 * self.share, 1)}

    def print(self) -> None:
        """One line."""
        print_facts([(self.name, f"{number(self.array_bytes)} bytes in {number(self.cycles)} "
                      f"cycles; a node can receive the others' parts in {self.bound_cycles:,.0f}: "
                      f"{100 * self.share:.1f} % of a link")])


def schedule(config: MeshConfig, array_bytes: int) -> NDArray:
    """The packets of an all-gather, each for all nodes but the one that sends it.

    Returns
    -------
    ndarray of PACKET
        All may be sent at once: what comes back from the mesh sets the pace.

    Raises
    ------
    ConfigError
        When the parts of the nodes are not whole packets.
    """
    part, rest = divmod(array_bytes, config.nodes * config.bus_bytes)
    if rest or not part:
        raise ConfigError(f"an array of {array_bytes} bytes is not a number of packets of "
                          f"{config.bus_bytes} bytes for each of {config.nodes} nodes; choose a "
                          "multiple of both")
    packets = np.zeros(part * config.nodes, PACKET)
    packets["node"] = np.repeat(np.arange(config.nodes), part)
    packets["target"] = target(0, config.width - 1, 0, config.height - 1)
    return packets


def gather(player: MeshPlayer, *, array_bytes: int = ARRAY_BYTES) -> Gathered:
    """Run an all-gather and check it.

    Raises
    ------
    ConfigError
        See :func:`schedule`.
    RuntimeError
        When a packet does not arrive as it was sent, or takes another way: the RTL is broken.
    """
    config = player.config
    packets = schedule(config, array_bytes)
    bound = array_bytes * (config.nodes - 1) / config.nodes / config.bus_bytes
    player.reset()
    played = player.play(packets, limit=100 * int(bound) + 1000)
    expected = link_loads(config, packets["node"], packets["target"])
    if not played.arrivals["good"].all() or (played.moved != expected).any():
        raise RuntimeError(f"the mesh {config} lost, changed or misrouted packets of an all-gather")
    cycles = int(played.arrivals["cycle"].max() - played.accepted.min()) + 1
    return Gathered(array_bytes, cycles, bound)
