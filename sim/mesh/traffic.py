"""Latency, throughput and load of the links of a simulated mesh under a pattern.

The method is that of Dally and Towles, *Principles and Practices of Interconnection Networks*
(2004), section 23.2: nodes have packets to send at random times whatever the mesh does (open loop,
endless queues at the sources); the mesh warms up, then packets that are made in a window are
marked, and traffic goes on until these have arrived.
"""
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import ConfigError
from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.patterns import (
    PATTERNS,
    Limits,
    Matrix,
    draw,
    limits,
    zero_load_latency,
)
from systolith.sim.mesh.player import PACKET, MeshPlayer
from systolith.sim.mesh.routes import hops, node_target

#: Loads that are measured, as shares of the least bound. A perfect mesh would take the last one.
SHARES = (0.05, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)

#: Cycles to warm up, as a share of those of the window.
_WARM = 0.5

#: Of the time in which marked packets may arrive after the window, likewise.
_DRAIN = 1.0

#: Pairs of nodes whose latency is measured one at a time.
_PAIRS = 256


@dataclass(frozen=True)
class Point:
    """One load. Loads are packets a cycle of a node that always has a destination; a node that the
    pattern lets aim at itself sends as much less.

    Parameters
    ----------
    offered, throughput : float
        What nodes have to send, and what arrives in the window.
    latency_mean, latency_p99 : float or None
        Cycles from when a packet is made to its arrival; None when the mesh is so full that not
        all marked packets arrive.
    """

    offered: float
    throughput: float
    latency_mean: float | None
    latency_p99: float | None


@dataclass(frozen=True)
class Curve:
    """A pattern: its bounds, and what was measured with rising load.

    Parameters
    ----------
    links : ndarray of float64, shape (nodes, 5)
        Packets a cycle out of each port at the highest load, counted by the RTL; columns as in
        :class:`Port`.
    """

    pattern: str
    limits: Limits
    zero_load_latency: float
    points: tuple[Point, ...]
    links: NDArray[np.float64]

    @property
    def saturation(self) -> float:
        """What arrives at the highest load, that of the pattern's least bound.

        With still more to send, nodes with free ways would send more than others, and the traffic
        would no longer be that of the pattern.
        """
        return self.points[-1].throughput

    @property
    def share(self) -> float:
        """The saturation as a part of the least bound."""
        return self.saturation / self.limits.least

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"pattern": self.pattern, "limits": asdict(self.limits), "limit": self.limits.name,
                "zero_load_latency": round(self.zero_load_latency, 3),
                "saturation": round(self.saturation, 4),
                "percent_of_limit": round(100 * self.share, 1),
                "points": [asdict(point) for point in self.points],
                "links": self.links.round(4).tolist()}


def measure(player: MeshPlayer, pattern: str, *, cycles: int, seed: int,
            shares: tuple[float, ...] = SHARES) -> Curve:
    """Measure a pattern with rising load.

    Parameters
    ----------
    player : MeshPlayer
        The mesh; it is reset before each load.
    pattern : str
        A name of :data:`PATTERNS`.
    cycles : int
        Of the window, at least 100.
    seed : int
        Of times and destinations.
    shares : tuple of float
        Loads as shares of the pattern's least bound, rising.

    Raises
    ------
    ConfigError
        When the pattern needs another shape of mesh, or the window is too short.
    """
    if cycles < 100:
        raise ConfigError(f"a window must have at least 100 cycles to mean anything, not {cycles}")
    config = player.config
    matrix = PATTERNS[pattern](config)
    bounds, rng = limits(config, matrix), np.random.default_rng(seed)
    loads = [share * bounds.least for share in shares]
    played = [_play(player, matrix, load, cycles=cycles, rng=rng) for load in loads]
    return Curve(pattern, bounds, zero_load_latency(config, matrix),
                 tuple(point for point, _ in played), played[-1][1])


def random_packets(config: MeshConfig, matrix: Matrix, load: float, *, cycles: int,
                   rng: np.random.Generator) -> NDArray:
    """Packets that nodes make at random, with the same chance in every cycle: the load, times the
    node's sum in the matrix.

    Returns
    -------
    ndarray of PACKET
        In the order of time.
    """
    time, node = np.nonzero(rng.random((cycles, config.nodes)) < load * matrix.sum(1))
    packets = np.zeros(len(time), PACKET)
    packets["time"], packets["node"] = time, node
    packets["target"] = node_target(config, draw(rng, matrix, node))
    return packets


def measure_pairs(player: MeshPlayer, *, seed: int) -> NDArray[np.int64]:
    """Latency in an idle mesh, less the number of links, of random pairs one after the other.

    Pairs of two different nodes, as nothing comes back to its sender.
    """
    config, rng = player.config, np.random.default_rng(seed)
    sources, destinations = rng.permutation(np.argwhere(hops(config)))[:_PAIRS].T
    count = len(sources)
    apart = 2 * (config.width + config.height)
    packets = np.zeros(count, PACKET)
    packets["time"], packets["node"] = apart * np.arange(count), sources
    packets["target"] = node_target(config, destinations)
    player.reset()
    played = player.play(packets, limit=apart * (count + 1))
    latency = np.sort(played.arrivals, order="packet")["cycle"] - packets["time"]
    return latency.astype(np.int64) - hops(config)[sources, destinations]


def _play(player: MeshPlayer, matrix: Matrix, load: float, *, cycles: int,
          rng: np.random.Generator) -> tuple[Point, NDArray[np.float64]]:
    """One load, and what left each port per cycle of the window."""
    first = int(_WARM * cycles)
    end, limit = first + cycles, first + cycles + int(_DRAIN * cycles)
    packets = random_packets(player.config, matrix, load, cycles=limit, rng=rng)
    player.reset()
    played = player.play(packets, limit=limit, window=(first, end))
    cycle, made = played.arrivals["cycle"], packets["time"][played.arrivals["packet"]]
    arrived = np.count_nonzero((first <= cycle) & (cycle < end))
    marked = (first <= made) & (made < end)
    latency = (cycle - made)[marked]
    sent = np.count_nonzero((first <= packets["time"]) & (packets["time"] < end))
    known = len(latency) == sent and sent
    return Point(
        offered=round(load, 4), throughput=round(arrived / cycles / matrix.sum(), 4),
        latency_mean=round(float(latency.mean()), 3) if known else None,
        latency_p99=float(np.percentile(latency, 99)) if known else None,
    ), played.moved / cycles
