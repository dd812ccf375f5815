"""Sizes of a mesh are checked, and its nodes are numbered row by row."""
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.mesh.config import MeshConfig


def test_derived_sizes():
    config = MeshConfig(width=5, height=3, bus_bytes=8)
    assert config.nodes == 15
    assert config.replace(height=1).nodes == 5


@pytest.mark.parametrize(("changes", "message"), [
    ({"width": 0}, "width must be an integer from 1 to 16, not 0"),
    ({"height": 17}, "height must be an integer from 1 to 16, not 17"),
    ({"bus_bytes": 12}, "bus_bytes must be a power of two from 4 to 16, not 12"),
    ({"queue_depth": 1}, "queue_depth must be a power of two from 2 to 16, not 1"),
    ({"queue_depth": True}, "queue_depth must be an integer, not True"),
    ({"width": "4"}, "width must be an integer, not '4'"),
    ({"crosspoint": 1}, "crosspoint must be True or False, not 1"),
])
def test_wrong_sizes_are_named(changes, message):
    with pytest.raises(ConfigError, match=f"^{message}$"):
        MeshConfig(**{"width": 4, "height": 4} | changes)
