"""The all-gather by cores."""
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.sim.mesh.core_gather import gather_on
from systolith.sim.rtl_cluster import RtlCluster

BYTES = 2048


def test_no_core_does_better_than_its_bus():
    config = get_config("tiny@2x2")
    with RtlCluster(config) as cluster:
        result = gather_on(cluster, array_bytes=BYTES)
        again = gather_on(cluster, array_bytes=BYTES)
    # Whose turn it is on a bus stays from the run before.
    assert abs(result.cycles - again.cycles) < 5
    # It receives three parts and reads one, an access a cycle.
    assert result.cycles > BYTES // config.bus_bytes
    assert result.bound_cycles == 3 * BYTES / 4 / config.bus_bytes
    assert 0.5 < result.share < 0.75


def test_a_byte_that_is_not_there_is_seen(monkeypatch):
    with RtlCluster(get_config("tiny@2x1")) as cluster:
        read = cluster.cores[1].read
        monkeypatch.setattr(cluster.cores[1], "read",
                            lambda memory, offset, size: bytes(size) if memory == Region.ACT
                            else read(memory, offset, size))
        with pytest.raises(RuntimeError, match="tiny@2x1 lost or changed bytes"):
            gather_on(cluster, array_bytes=BYTES)
