"""Random packets for a node, a row, a column, a rectangle, or none, against a scoreboard."""
from collections import defaultdict

import numpy as np
import pytest

from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.player import PACKET, MeshPlayer
from systolith.sim.mesh.routes import link_loads, target


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


def spoil(config, packets, *, rng, share=0.05):
    """Make a share of the targets wrong, in every way there is; whether each is.

    Bounds swapped in x, in y, or both; nodes beyond the east, the south, or both; all at once.
    """
    bad = rng.random(len(packets)) < share
    wrong = np.array([target(1, 0, 0, 0), target(0, 0, 1, 0), target(1, 0, 1, 0),
                      target(0, config.width, 0, 0), target(0, 0, config.height, config.height),
                      target(config.width, 15, config.height, 15), target(15, 0, 15, 0)])
    packets["target"][bad] = rng.choice(wrong, bad.sum())
    return bad


def by_pair(config, packets, bad):
    """Indices of the packets that each node must get of each other one, in order; nothing comes
    back to the one that sent it."""
    expected = defaultdict(list)
    for index, (_, node, where) in enumerate(packets.tolist()):
        if bad[index]:
            continue
        x_first, x_last, y_first, y_last = (where >> at & 15 for at in (0, 4, 8, 12))
        for y in range(y_first, y_last + 1):
            for x in range(x_first, x_last + 1):
                if y * config.width + x != node:
                    expected[node, y * config.width + x].append(index)
    return expected


def check(config, packets, bad, played):
    """Every good packet has arrived unchanged, once, in order, at its nodes and nowhere else; every
    bad one was accepted, dropped and counted."""
    arrivals, arrived = played.arrivals, defaultdict(list)
    assert arrivals["good"].all()
    for node, index, source in arrivals[["node", "packet", "source"]].tolist():
        sender = int(packets["node"][index])
        assert source == sender % config.width | sender // config.width << 4
        arrived[sender, node].append(index)
    assert arrived == by_pair(config, packets, bad)
    assert (played.accepted < played.cycles).all()
    dropped = np.bincount(packets["node"][bad], minlength=config.nodes)
    assert played.dropped.tolist() == dropped.tolist()
    good = packets[~bad]
    assert (played.moved == link_loads(config, good["node"], good["target"])).all()


@pytest.mark.parametrize(("sizes", "stall"), [
    ({"width": 2, "height": 2, "queue_depth": 2}, 40),
    ({"width": 2, "height": 2, "crosspoint": False}, 40),
    *(pytest.param({"width": side, "height": side, "crosspoint": crosspoint}, stall,
                   marks=pytest.mark.slow)
      for side, crosspoint in ((4, True), (4, False), (8, True)) for stall in (0, 50)),
])
def test_all_arrives_once_and_in_order(sizes, stall):
    config, rng = MeshConfig(**{"bus_bytes": 4} | sizes), np.random.default_rng(1)
    packets = random_packets(config, 1000 * config.nodes, rng=rng)
    bad = spoil(config, packets, rng=rng)
    with MeshPlayer(config) as player:
        check(config, packets, bad, player.play(packets, limit=10**6, stall_percent=stall))


def test_packets_beyond_the_mesh_hold_nothing_up():
    config = MeshConfig(width=2, height=2, bus_bytes=4, queue_depth=2)
    packets = np.zeros(40, PACKET)
    packets["node"] = np.arange(40) % 4
    packets["target"] = np.where(packets["node"] == 0, target(1, 1, 0, 0), 0)
    packets["target"][::5] = target(2, 2, 0, 0)
    bad = packets["target"] == target(2, 2, 0, 0)
    with MeshPlayer(config) as player:
        played = player.play(packets, limit=1000)
    assert (played.accepted < 1000).all()
    assert sorted(played.arrivals["packet"].tolist()) == np.flatnonzero(~bad).tolist()
    assert played.dropped.tolist() == np.bincount(packets["node"][bad], minlength=4).tolist()


def test_a_hop_takes_a_cycle():
    config = MeshConfig(width=2, height=2, bus_bytes=4, queue_depth=2)
    packets = np.zeros(3, PACKET)
    packets["time"] = 0, 20, 40
    packets["target"] = [target(x, x, y, y) for x, y in ((1, 1), (1, 0), (0, 1))]
    with MeshPlayer(config) as player:
        played = player.play(packets, limit=1000)
    assert (played.arrivals["cycle"] - played.accepted).tolist() == [3, 2, 2]


def test_nothing_comes_back_to_its_sender():
    config = MeshConfig(width=2, height=2, bus_bytes=4, queue_depth=2)
    packets = np.zeros(2, PACKET)
    packets["node"] = 3
    packets["target"] = target(1, 1, 1, 1), target(0, 1, 1, 1)
    with MeshPlayer(config) as player:
        played = player.play(packets, limit=1000)
    assert (played.accepted < 1000).all()
    assert played.arrivals[["node", "packet"]].tolist() == [(2, 1)]
