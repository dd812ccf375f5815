"""Programs of many cores: image and streams reach the core they are for."""
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Send
from systolith.sw.compiler.schedule_mesh import schedule_mesh
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from systolith.sw.runtime.mesh_program import MeshProgram
from systolith.sw.runtime.program import ProgramError, Section

CONFIG = get_config("tiny@2x1")
LOAD = Load(region=Region.ACT, rows=1, row_bytes=8, base=0, ext_base=16)
SEND = Send(region=Region.ACT, remote_region=Region.VEC, rows=1, row_bytes=8, base=0, remote_base=8,
            x_first=1, x_last=1)
PROGRAM = MeshProgram(CONFIG, schedule_mesh([(0, LOAD), (0, SEND)], CONFIG),
                      {0: [Section("x", "ext", 16, b"abcdefgh")],
                       1: [Section("y", Region.VEC, 0, b"12345678")]})


def test_an_image_and_its_streams_run():
    cluster = FunctionalCluster(CONFIG)
    PROGRAM.load(cluster)
    counters = PROGRAM.run(cluster)
    assert cluster.cores[1].read(Region.VEC, 0, 16) == b"12345678abcdefgh"
    assert counters[0].engines[Engine.MOVE].commands == 2


def test_another_configuration_is_refused():
    with pytest.raises(ProgramError, match=r"compiled for 'tiny@2x1', but .* 'tiny@2x2'"):
        PROGRAM.load(FunctionalCluster(get_config("tiny@2x2")))
