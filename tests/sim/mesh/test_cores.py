"""Cores that are put on a mesh."""
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.configs import get_config
from systolith.sim.mesh.cores import core_of, on_mesh


def test_a_core_may_have_other_sizes():
    assert core_of("tiny") is get_config("tiny")
    core = core_of("sim16", ["wgt_depth=2048", "const_depth=1024"])
    assert core == get_config("sim16").replace(name="sim16 wgt_depth=2048 const_depth=1024",
                                               wgt_depth=2048, const_depth=1024)


def test_a_mesh_of_named_cores_is_the_named_mesh():
    assert on_mesh(get_config("tiny"), 2, 3) == get_config("tiny@2x3")
    assert on_mesh(get_config("tiny"), 1, 1) is get_config("tiny")
    assert on_mesh(core_of("tiny", ["rows=8"]), 2, 1).core == core_of("tiny", ["rows=8"])


@pytest.mark.parametrize(("name", "size", "message"), [
    ("mesh4", "rows=8", "'mesh4' is a mesh of 4 cores; give the configuration of one"),
    ("tiny", "wgt_depth", "like wgt_depth=2048, not 'wgt_depth'; choose of rows, cols"),
    ("tiny", "wgt_depth=many", "not 'wgt_depth=many'"),
    ("tiny", "mesh_width=2", "not 'mesh_width=2'"),
    ("tiny", "wgt_depth=3000", "wgt_depth must be a power of two from 16 to 65536, not 3000")])
def test_mistakes_are_named(name, size, message):
    with pytest.raises(ConfigError, match=message):
        core_of(name, [size])
