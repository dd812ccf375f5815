"""All-gathers: who gets what, and how near to a link's bytes a cycle."""
import numpy as np
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.gather import gather, schedule
from systolith.sim.mesh.player import MeshPlayer
from systolith.sim.mesh.routes import ends

SMALL = MeshConfig(width=2, height=2, bus_bytes=4)


def test_each_node_sends_its_part():
    config = SMALL.replace(width=5, height=3)
    packets = schedule(config, 15 * 8)
    assert np.bincount(packets["node"]).tolist() == [2] * 15
    assert (ends(packets["target"]).T == [0, 4, 0, 2]).all()


@pytest.mark.parametrize("crosspoint", [True, False])
@pytest.mark.parametrize("side", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_an_all_gather_fills_the_links_of_the_nodes(side, crosspoint):
    """As many packets as 128 x 384 bytes are on a bus of 16."""
    config = SMALL.replace(width=side, height=side, crosspoint=crosspoint)
    with MeshPlayer(config) as player:
        result = gather(player, array_bytes=128 * 384 // 4)
    print(f"{side}x{side}, crosspoint={crosspoint}: {100 * result.share:.1f} % of a link")
    assert result.bound_cycles == 3072 * (side * side - 1) / side**2
    assert 0.9 <= result.share < 1


def test_packets_are_whole():
    with pytest.raises(ConfigError, match="66 bytes is not a number of packets of 4 bytes for each "
                                          "of 4 nodes"):
        schedule(SMALL, 66)
    with pytest.raises(ConfigError, match="0 bytes"):
        schedule(SMALL, 0)
