"""Texts through a pipeline of cores give every byte of the reference, one by one."""
import numpy as np
import pytest

from systolith.hw.config import MEMORIES
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine, Load, Notify, Send, Store
from systolith.sw.compiler.errors import CompileError
from systolith.sw.encoder.pipeline import compile_encoder_pipeline
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from tests.sw.encoders import quantized, random_encoder, random_texts


@pytest.fixture(scope="module")
def model():
    return quantized(random_encoder(layers=4))


def garbage(config, seed=3):
    """A functional cluster whose memories hold random bytes."""
    cluster, rng = FunctionalCluster(config), np.random.default_rng(seed)
    for core in cluster.cores:
        for region in MEMORIES:
            core.write(region, 0, rng.bytes(core.size(region)))
    return cluster


@pytest.mark.parametrize(("name", "length", "valid", "texts"), [
    ("tiny@2x1", 9, 9, 1), ("tiny@2x2", 16, 13, 5), ("tiny@3x1", 12, 12, 4), ("tall@2x1", 17, 17, 3),
    ("tiny@3x2", 8, 8, 6), ("sim16@2x2", 20, 20, 3)])
def test_functional_cluster_equals_the_reference(model, name, length, valid, texts):
    config = get_config(name)
    compiled = compile_encoder_pipeline(model, config, length=length, valid=valid, texts=texts)
    cluster = garbage(config)
    compiled.load(cluster)
    for seed in (1, 2):
        assert compiled.run(cluster, random_texts(*[valid] * texts, seed=seed)).bit_exact
