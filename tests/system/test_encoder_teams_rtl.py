"""Texts through teams of cores on the RTL equal the reference byte for byte."""
import pytest

from systolith.hw.configs import get_config
from systolith.sim.rtl_cluster import RtlCluster
from systolith.sw.encoder.mesh.teams import compile_encoder_teams
from tests.sw.encoders import quantized, random_encoder, random_texts


def _equal(name, length, valid, stall, *, layers, teams, texts):
    """More texts than teams, so each place of a residual is used again."""
    model = quantized(random_encoder(width=16, heads=4, hidden=64, layers=layers))
    config = get_config(name)
    compiled = compile_encoder_teams(model, config, length=length, valid=valid, texts=texts,
                                     teams=teams)
    with RtlCluster(config, stall_percent=stall, seed=7) as cluster:
        compiled.load(cluster)
        for seed in (1, 2):
            assert compiled.run(cluster, random_texts(*[valid] * texts, seed=seed)).bit_exact


@pytest.mark.parametrize("stall", [0, 40])
def test_two_teams_of_two_cores(stall):
    _equal("tiny@2x2", 9, 8, stall, layers=2, teams=2, texts=3)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "teams", "stall"), [
    ("tiny@4x2", 2, 0), ("tiny@4x2", 2, 50), ("tiny@4x2", 4, 30), ("tiny@4x4", 2, 20)])
def test_larger_meshes(name, teams, stall):
    """Two teams of 4x4 cores have rows with parts of the text."""
    _equal(name, 16, 13, stall, layers=4, teams=teams, texts=5)
