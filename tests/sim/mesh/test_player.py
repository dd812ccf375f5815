"""Random packets for one node, a row, a column or a rectangle, against a scoreboard."""
from collections import defaultdict

import numpy as np
import pytest

from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.player import PACKET, MeshPlayer, receivers, target


def random_packets(config, count, *, rng, alone=0.7):
    """Packets of all nodes; a share ``alone`` of them for one node, the others for rectangles."""
    packets = np.zeros(count, PACKET)
    packets["time"] = np.sort(rng.integers(0, 2 * count // config.nodes, count))
    packets["node"] = rng.integers(0, config.nodes, count)
    single = rng.random(count) < alone
    ends = []
    for size in (config.width, config.height):
        first, other = np.sort(rng.integers(0, size, (2, count)), axis=0)
        ends += [first, np.where(single, first, other)]
    packets["target"] = target(*ends)
    return packets


def by_pair(config, packets):
    """Indices of the packets that each node must get of each other one, in order."""
    expected = defaultdict(list)
    for index, (_, node, where) in enumerate(packets.tolist()):
        x_first, x_last, y_first, y_last = (where >> at & 15 for at in (0, 4, 8, 12))
        for y in range(y_first, y_last + 1):
            for x in range(x_first, x_last + 1):
                expected[node, y * config.width + x].append(index)
    return expected


def check(config, packets, played):
    """Every packet has arrived unchanged, once, in order, at its nodes and nowhere else."""
    arrivals, arrived = played.arrivals, defaultdict(list)
    assert arrivals["good"].all()
    for node, index, source in arrivals[["node", "packet", "source"]].tolist():
        sender = int(packets["node"][index])
        assert source == sender % config.width | sender // config.width << 4
        arrived[sender, node].append(index)
    assert arrived == by_pair(config, packets)


@pytest.mark.parametrize(("sizes", "stall"), [
    ({"width": 2, "height": 2, "queue_depth": 2}, 40),
    ({"width": 2, "height": 2, "crosspoint": False}, 40),
    *(pytest.param({"width": side, "height": side}, stall, marks=pytest.mark.slow)
      for side in (4, 8) for stall in (0, 50)),
])
def test_all_arrives_once_and_in_order(sizes, stall):
    config = MeshConfig(**{"bus_bytes": 4} | sizes)
    packets = random_packets(config, 1000 * config.nodes, rng=np.random.default_rng(1))
    with MeshPlayer(config) as player:
        check(config, packets, player.play(packets, limit=10**6, stall_percent=stall))


def test_packets_beyond_the_mesh_hold_nothing_up():
    config = MeshConfig(width=2, height=2, bus_bytes=4, queue_depth=2)
    packets = np.zeros(40, PACKET)
    packets["node"] = np.arange(40) % 4
    packets["target"][::5] = target(2, 2, 0, 0)
    bad = packets["target"] != 0
    with MeshPlayer(config) as player:
        played = player.play(packets, limit=1000)
    assert (played.accepted < 1000).all()
    assert sorted(played.arrivals["packet"].tolist()) == np.flatnonzero(~bad).tolist()
    assert played.dropped.tolist() == np.bincount(packets["node"][bad], minlength=4).tolist()


def test_a_hop_takes_a_cycle():
    config = MeshConfig(width=2, height=2, bus_bytes=4, queue_depth=2)
    packets = np.zeros(3, PACKET)
    packets["time"] = 0, 20, 40
    packets["target"] = [target(x, x, y, y) for x, y in ((0, 0), (1, 0), (1, 1))]
    with MeshPlayer(config) as player:
        played = player.play(packets, limit=1000)
    assert (played.arrivals["cycle"] - played.accepted).tolist() == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize(("crosspoint", "least"), [(True, 0.8), (False, 0.6)])
def test_saturation_under_uniform_traffic(crosspoint, least):
    """A 4x4 mesh's bisection allows one packet a cycle and node, as half of them cross it."""
    config = MeshConfig(width=4, height=4, bus_bytes=4, crosspoint=crosspoint)
    cycles, warm, rng = 6000, 1000, np.random.default_rng(1)
    packets = np.zeros(cycles * config.nodes, PACKET)
    packets["time"], packets["node"] = np.divmod(np.arange(len(packets)), config.nodes)
    y, x = np.divmod(rng.integers(0, config.nodes, len(packets)), config.width)
    packets["target"] = target(x, x, y, y)
    assert (receivers(packets) == 1).all()
    with MeshPlayer(config) as player:
        played = player.play(packets, limit=cycles)
    share = (played.arrivals["cycle"] >= warm).sum() / (cycles - warm) / config.nodes
    print(f"crosspoint={crosspoint}: {share:.3f} of the bisection bound")
    assert least <= share <= 1
