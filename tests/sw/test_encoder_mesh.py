"""Encoders on several cores give every byte of the reference, as a core alone does."""
import dataclasses

import numpy as np
import pytest

from systolith.hw.config import MEMORIES, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Send
from systolith.sw.compiler.errors import CompileError
from systolith.sw.encoder import compile_encoder, compile_encoder_mesh
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from tests.sw.encoders import quantized, random_encoder, random_texts


@pytest.fixture(scope="module")
def model():
    return quantized(random_encoder())


@pytest.fixture(scope="module")
def even_model():
    """Heads, columns and groups that four cores share evenly."""
    return quantized(random_encoder(width=16, heads=4, hidden=64))


def garbage(config, seed=3):
    """A functional cluster whose memories hold random bytes."""
    cluster, rng = FunctionalCluster(config), np.random.default_rng(seed)
    for core in cluster.cores:
        for region in MEMORIES:
            core.write(region, 0, rng.bytes(core.size(region)))
    return cluster


def run(compiled, config, ids):
    cluster = garbage(config)
    compiled.load(cluster)
    for text in ids:
        assert compiled.run(cluster, text).bit_exact


@pytest.mark.parametrize(("name", "length", "valid"), [
    ("tiny@2x2", 16, 16), ("tiny@2x2", 37, 33), ("tiny@2x1", 13, 3), ("tiny@3x1", 26, 26),
    ("tall@2x2", 40, 33), ("sim16@2x1", 37, 37), ("tiny@2x2", 1, 1)])
def test_functional_cluster_equals_the_reference(model, name, length, valid):
    """Heads and groups are three and two, so some cores have none of them."""
    config = get_config(name)
    run(compile_encoder_mesh(model, config, length=length, valid=valid), config,
        random_texts(valid, valid))


@pytest.mark.parametrize(("name", "length", "valid"), [
    ("tiny@4x2", 40, 40), ("tiny@2x3", 29, 21), ("tiny@4x4", 35, 35), ("sim16@4x2", 37, 20)])
def test_rows_of_cores_have_parts_of_the_text(even_model, name, length, valid):
    config = get_config(name)
    run(compile_encoder_mesh(even_model, config, length=length, valid=valid), config,
        random_texts(valid, valid))


@pytest.mark.parametrize("acc_depth", [512, 64])
def test_few_accumulators(even_model, acc_depth):
    """Products of a phase lie where those of the phase before did."""
    config = get_config("tiny@2x1").replace(name="small", acc_depth=acc_depth)
    run(compile_encoder_mesh(even_model, config, length=33), config, random_texts(33))


def test_weights_that_do_not_fit_are_streamed(even_model):
    """The cores hold less than a half of them, so a layer's come while the one before is used."""
    model = quantized(random_encoder(width=16, heads=4, hidden=64, layers=5))
    config = get_config("tiny@2x2")
    small = config.replace(name="small", wgt_depth=256)
    resident, streamed = (compile_encoder_mesh(model, each, length=24) for each in (config, small))
    weights = [[each for each in program.commands[1][Engine.MOVE]
                if isinstance(each, Load) and each.region == Region.WGT]
               for program in (resident.program, resident.setup, streamed.program, streamed.setup)]
    assert len(weights[0]) == 1
    assert not weights[3]
    assert len(weights[1]) > 1
    assert len(weights[2]) > 1
    run(streamed, small, random_texts(24, 24))


def test_a_layer_that_does_not_fit_is_named(even_model):
    config = get_config("tiny@2x2").replace(name="small", wgt_depth=64)
    with pytest.raises(CompileError, match=r"needs \d+ bytes of weight memory"):
        compile_encoder_mesh(even_model, config, length=24)


def test_many_groups_are_shared_as_well():
    model, config = quantized(random_encoder(hidden=70, layers=1), group=9), get_config("tiny@2x2")
    run(compile_encoder_mesh(model, config, length=20), config, random_texts(20))


def test_products_are_shared_evenly(even_model):
    """A core of four multiplies a quarter, but for the mean, which one does for all."""
    config = get_config("tiny@2x2")

    def beats(streams):
        return sum(each.count0 * each.count1 * each.count2 for each in streams[Engine.MATRIX])

    alone = compile_encoder(even_model, config.core, length=32).program.commands
    cores = compile_encoder_mesh(even_model, config, length=32).program.commands
    assert max(map(beats, cores)) < 0.26 * beats(alone)
    assert all(any(isinstance(each, Send) for each in core[Engine.MOVE]) for core in cores)


def test_a_missing_exchange_shows(even_model):
    """Without what one core sends, the result is another one: the comparison can fail."""
    config = get_config("tiny@2x2")
    compiled = compile_encoder_mesh(even_model, config, length=16)
    commands = [dict(streams) for streams in compiled.program.commands]
    commands[3][Engine.MOVE] = [
        dataclasses.replace(each, base=0, stride=0) if isinstance(each, Send) else each
        for each in commands[3][Engine.MOVE]]
    broken = dataclasses.replace(compiled, program=dataclasses.replace(
        compiled.program, commands=commands))
    cluster = garbage(config)
    broken.load(cluster)
    assert not broken.run(cluster, random_texts(16)[0]).bit_exact


def test_limits_are_named(model):
    with pytest.raises(CompileError, match="length must be at least 5 on the 2 rows"):
        compile_encoder_mesh(model, get_config("tiny@4x2"), length=4)
    with pytest.raises(CompileError, match="shared by at most 4"):
        compile_encoder_mesh(model, get_config("tiny@5x1"), length=40)
