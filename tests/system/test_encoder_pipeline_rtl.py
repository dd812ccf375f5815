"""Texts through a pipeline of cores on the RTL equal the reference byte for byte."""
import pytest

from systolith.hw.configs import get_config
from systolith.sim.rtl_cluster import RtlCluster
from systolith.sw.encoder import compile_encoder_pipeline
from tests.sw.encoders import quantized, random_encoder, random_texts


@pytest.mark.slow
@pytest.mark.parametrize(("name", "length", "stall"), [
    ("tiny@2x1", 9, 0), ("tiny@2x2", 13, 0), ("tiny@2x2", 13, 50)])
def test_every_text_equals_the_reference(name, length, stall):
    """More texts than cores, so each place of a residual is used again."""
    model, config = quantized(random_encoder(layers=4)), get_config(name)
    compiled = compile_encoder_pipeline(model, config, length=length, texts=6)
    with RtlCluster(config, stall_percent=stall, seed=7) as cluster:
        compiled.load(cluster)
        for seed in (1, 2):
            assert compiled.run(cluster, random_texts(*[length] * 6, seed=seed)).bit_exact
