"""Encoders on several cores give every byte of the reference, as a core alone does."""
import numpy as np
import pytest

from systolith.hw.config import MEMORIES
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Product, Send
from systolith.sw.compiler.errors import CompileError
from systolith.sw.encoder import compile_encoder, compile_encoder_mesh
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from tests.sw.encoders import quantized, random_encoder, random_texts


@pytest.fixture(scope="module")
def model():
    return quantized(random_encoder())


def garbage(config, seed=3):
    """A functional cluster whose memories hold random bytes."""
    cluster, rng = FunctionalCluster(config), np.random.default_rng(seed)
    for core in cluster.cores:
        for region in MEMORIES:
            core.write(region, 0, rng.bytes(core.size(region)))
    return cluster


@pytest.mark.parametrize(("name", "length", "valid"), [
    ("tiny@2x2", 16, 16), ("tiny@2x2", 37, 33), ("tiny@2x1", 13, 3), ("tiny@3x1", 26, 26),
    ("tall@2x2", 40, 33), ("sim16@2x1", 37, 37)])
def test_functional_cluster_equals_the_reference(model, name, length, valid):
    config = get_config(name)
    compiled = compile_encoder_mesh(model, config, length=length, valid=valid)
    cluster = garbage(config)
    compiled.load(cluster)
    for ids in random_texts(valid, valid):
        assert compiled.run(cluster, ids).bit_exact


def test_groups_are_shared_as_well(model):
    model, config = quantized(random_encoder(hidden=70, layers=1), group=9), get_config("tiny@2x2")
    compiled = compile_encoder_mesh(model, config, length=20)
    cluster = garbage(config)
    compiled.load(cluster)
    assert compiled.run(cluster, random_texts(20)[0]).bit_exact


def test_products_are_shared_evenly(model):
    """A core of four multiplies a quarter, but for the mean, which one does for all."""
    config = get_config("tiny@2x2")

    def beats(streams):
        return sum(each.count0 * each.count1 * each.count2 for each in streams[Engine.MATRIX])

    alone = compile_encoder(model, config.core, length=32).program.commands
    cores = compile_encoder_mesh(model, config, length=32).program.commands
    assert all(isinstance(each, Product) for core in cores for each in core[Engine.MATRIX])
    assert max(map(beats, cores)) < 0.26 * beats(alone)
    assert all(any(isinstance(each, Send) for each in core[Engine.MOVE]) for core in cores)


def test_limits_are_named(model):
    with pytest.raises(CompileError, match="length must be at least 13 on the 4 cores"):
        compile_encoder_mesh(model, get_config("tiny@2x2"), length=12)
    with pytest.raises(CompileError, match="one encoder runs on at most 4"):
        compile_encoder_mesh(model, get_config("tiny@4x2"), length=40)
