"""The all-gather by cores."""
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.sim.mesh.core_gather import gather_on
from systolith.sim.rtl_cluster import RtlCluster

BYTES = 2048


def test_a_core_receives_at_the_rate_of_its_link():
    config = get_config("tiny@2x2")
    with RtlCluster(config) as cluster:
        result = gather_on(cluster, array_bytes=BYTES)
        again = gather_on(cluster, array_bytes=BYTES)
    # Whose turn it is on a bus stays from the run before.
    assert abs(result.cycles - again.cycles) < 5
    assert result.bound_cycles == 3 * BYTES / 4 / config.bus_bytes
    assert 0.9 < result.share < 1


def test_a_byte_that_is_not_there_is_seen(monkeypatch):
    with RtlCluster(get_config("tiny@2x1")) as cluster:
        read = cluster.cores[1].read
        monkeypatch.setattr(cluster.cores[1], "read",
                            lambda memory, offset, size: bytes(size) if memory == Region.ACT
                            else read(memory, offset, size))
        with pytest.raises(RuntimeError, match="tiny@2x1 lost or changed bytes"):
            gather_on(cluster, array_bytes=BYTES)
