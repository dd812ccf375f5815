"""What the simulated mesh reaches, both kinds of router, against the bounds."""
import numpy as np
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.patterns import PATTERNS
from systolith.sim.mesh.player import MeshPlayer
from systolith.sim.mesh.routes import link_loads
from systolith.sim.mesh.traffic import measure, measure_pairs, random_packets

SMALL = MeshConfig(width=2, height=2, bus_bytes=4, queue_depth=2)
#: Building it takes half a minute.
LARGE = MeshConfig(width=4, height=4, bus_bytes=4)

#: Least shares of the bound that a 4x4 mesh reaches, with a queue for each pair of an input and
#: an output, and with one for each input. Input queues that are served in order stop at 58.6 % of
#: uniform traffic through large switches (Karol, Hluchyj and Morgan, 1987).
REACHED = {"uniform": (0.8, 0.6), "transpose": (0.95, 0.95), "hot-spot": (0.93, 0.9),
           "all-to-one": (0.95, 0.95), "neighbour": (0.99, 0.99)}

configs = pytest.mark.parametrize("config", [
    SMALL, SMALL.replace(crosspoint=False),
    *(pytest.param(LARGE.replace(crosspoint=crosspoint), marks=pytest.mark.slow)
      for crosspoint in (True, False))],
    ids=lambda config: f"{config.width}x{config.height}-{config.crosspoint}")


@configs
def test_a_packet_alone_takes_a_cycle_a_link_and_one(config):
    with MeshPlayer(config) as player:
        over = measure_pairs(player, seed=1)
    assert len(over) == config.nodes * (config.nodes - 1)
    assert (over == 1).all()


@configs
@pytest.mark.parametrize("name", PATTERNS)
def test_links_carry_what_routes_say(config, name):
    packets = random_packets(config, PATTERNS[name](config), 0.3, cycles=500,
                             rng=np.random.default_rng(2))
    with MeshPlayer(config) as player:
        played = player.play(packets, limit=10**5)
    assert len(played.arrivals) == len(packets)
    assert (played.moved == link_loads(config, packets["node"], packets["target"])).all()


@pytest.mark.slow
@pytest.mark.parametrize("crosspoint", [True, False])
@pytest.mark.parametrize("name", PATTERNS)
def test_saturation(name, crosspoint):
    config = LARGE.replace(crosspoint=crosspoint)
    with MeshPlayer(config) as player:
        curve = measure(player, name, cycles=4000, seed=1, shares=(0.02, 1.0))
    print(f"{name}, crosspoint={crosspoint}: {100 * curve.share:.1f} % of the bound")
    # Random times may bring a little more than was asked for.
    assert REACHED[name][not crosspoint] <= curve.share <= 1.03
    # Hardly any packet meets another at the least load.
    assert curve.points[0].latency_mean == pytest.approx(curve.zero_load_latency, abs=0.25)
    assert curve.links.max() <= 1


def test_a_curve_has_a_point_a_load_and_stable_keys():
    with MeshPlayer(SMALL) as player:
        curve = measure(player, "uniform", cycles=1000, seed=3, shares=(0.1, 0.5))
        again = measure(player, "uniform", cycles=1000, seed=3, shares=(0.1, 0.5))
    assert curve.points == again.points
    assert [point.offered for point in curve.points] == [0.1, 0.5]
    for point in curve.points:
        assert point.throughput == pytest.approx(point.offered, rel=0.15)
        assert curve.zero_load_latency <= point.latency_mean <= point.latency_p99
    assert list(curve.as_json()) == ["pattern", "limits", "limit", "zero_load_latency",
                                     "saturation", "percent_of_limit", "points", "links"]


def test_latency_is_unknown_where_packets_do_not_arrive():
    """All to one, at twice what the node can take: what waits grows without end."""
    with MeshPlayer(SMALL) as player:
        curve = measure(player, "all-to-one", cycles=1000, seed=1, shares=(2.0,))
    assert curve.points[0].latency_mean is None
    # Three nodes send; the one in the middle receives a packet a cycle.
    assert curve.points[0].throughput == pytest.approx(1 / 3, abs=1e-4)


def test_a_window_has_a_least_length():
    with MeshPlayer(SMALL) as player, pytest.raises(ConfigError, match="at least 100 cycles"):
        measure(player, "uniform", cycles=99, seed=1)
