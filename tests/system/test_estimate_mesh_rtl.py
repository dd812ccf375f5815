"""The cycle model of several cores beside the RTL."""
import pytest

from systolith.hw.configs import get_config
from systolith.sim.rtl_cluster import RtlCluster
from systolith.sw.compiler.site import Site
from systolith.sw.encoder import compile_encoder_placed
from systolith.sw.encoder.placement import PLACEMENTS
from systolith.sw.estimate import estimate_mesh
from tests.sw.encoders import quantized, random_encoder, random_texts

#: What the two may differ by.
LIMIT = 0.02

LENGTH = 14


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_an_encoder_on_four_cores(placement):
    model, config = quantized(random_encoder(layers=4)), get_config("tiny@2x2")
    site = Site.of(config)
    compiled = compile_encoder_placed(model, site, length=LENGTH, placement=placement)
    texts = random_texts(*[LENGTH] * PLACEMENTS[placement].at_once(site))
    with RtlCluster(config) as cluster:
        compiled.load(cluster)
        _, counters = compiled.embed_texts(cluster, texts)
    found = estimate_mesh(config, compiled.program.commands, cluster.external)
    assert found.cycles == pytest.approx(counters.cycles, rel=LIMIT)
