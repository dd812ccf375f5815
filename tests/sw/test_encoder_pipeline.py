"""Texts through a pipeline of cores give every byte of the reference, one by one."""
from itertools import pairwise

import numpy as np
import pytest

from systolith.hw.config import MEMORIES, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Notify, Pass, Product, Send
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.plan import default_block_rows
from systolith.sw.compiler.signals import CHANNELS
from systolith.sw.encoder import compile_encoder, compile_encoder_pipeline
from systolith.sw.encoder.stage import among
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from tests.sw.encoders import quantized, random_encoder, random_texts


@pytest.fixture(scope="module")
def model():
    return quantized(random_encoder(layers=4))


@pytest.fixture(scope="module")
def four(model):
    """Three texts on four cores, a layer each."""
    return compile_encoder_pipeline(model, get_config("tiny@2x2"), length=8, texts=3)


def garbage(config, seed=3):
    """A functional cluster whose memories hold random bytes."""
    cluster, rng = FunctionalCluster(config), np.random.default_rng(seed)
    for core in cluster.cores:
        for region in MEMORIES:
            core.write(region, 0, rng.bytes(core.size(region)))
    return cluster


def moves(streams, kind):
    return [move for move in streams[Engine.MOVE] if isinstance(move, kind)]


@pytest.mark.parametrize(("name", "length", "valid", "texts"), [
    ("tiny@2x1", 9, 9, 1), ("tiny@2x2", 16, 13, 5), ("tiny@3x1", 12, 12, 4),
    ("tall@2x1", 17, 17, 3), ("sim16@2x2", 20, 20, 3)])
def test_functional_cluster_equals_the_reference(model, name, length, valid, texts):
    config = get_config(name)
    compiled = compile_encoder_pipeline(model, config, length=length, valid=valid, texts=texts)
    cluster = garbage(config)
    compiled.load(cluster)
    for seed in (1, 2):
        assert compiled.run(cluster, random_texts(*[valid] * texts, seed=seed)).bit_exact


def test_three_layers_on_a_core():
    """Column constants of more norms than a core has places for."""
    model = quantized(random_encoder(layers=5))
    compiled = compile_encoder_pipeline(model, get_config("tiny@2x1"), length=8, texts=3)
    cluster = garbage(compiled.program.config)
    compiled.load(cluster)
    assert compiled.run(cluster, random_texts(8, 8, 8)).bit_exact


def test_texts_come_out_as_from_one_core_one_after_the_other(model, four):
    alone, device = compile_encoder(model, get_config("tiny"), length=8), FunctionalDevice(
        get_config("tiny"))
    alone.load(device)
    texts = random_texts(8, 8, 8)
    cluster = garbage(four.program.config)
    four.load(cluster)
    output, _ = four.embed(cluster, texts)
    assert np.array_equal(output, [alone.embed(device, ids)[0] for ids in texts])


def test_each_stage_is_beside_the_next(four, model):
    assert list(four.stages) == [0, 1, 3, 2]
    for core, following in zip(four.stages, four.stages[1:], strict=False):
        sends = moves(four.program.commands[core], Send)
        assert {each.y_first * 2 + each.x_first for each in sends} == {following}
    assert not moves(four.program.commands[four.stages[-1]], Send)


def test_a_result_goes_out_after_the_next_text_has_its_first_weights(four):
    """Moves are done in order: weights behind the result would wait for it."""
    stream = four.program.commands[four.stages[1]][Engine.MOVE]
    _, *sends = [place for place, move in enumerate(stream) if isinstance(move, Send)]
    before = stream[sends[0] - 1]
    assert isinstance(before, Load)
    assert not any(isinstance(move, Load) for move in stream[sends[-1]:])


def test_a_stage_loads_its_first_weights_after_the_one_before_it(four):
    """External memory serves all cores in turn: what nobody needs yet must not be in the way."""
    first, second, *_ = (four.program.commands[core][Engine.MOVE] for core in four.stages)
    allowed = next(place for place, move in enumerate(first) if isinstance(move, Send))
    loads = first[:allowed]
    assert all(isinstance(move, Load) for move in loads)
    weights = [move for move in loads if move.region == Region.WGT]
    identity, products = 1, len("qkv")
    assert len(weights) == identity + products
    # The second load overwrites what comes, and waits for it; the first one is tiny.
    assert [bool(move.wait >> len(CHANNELS)) for move in second[:3]] == [False, True, False]
    assert second[0].rows * second[0].row_bytes < weights[-1].rows * weights[-1].row_bytes
    assert first[allowed].remote_base == second[1].base
    assert first[allowed].remote_region == second[1].region == Region.VEC


def test_a_residual_goes_out_block_by_block(model):
    """The next stage begins with the first rows while the last ones are in work."""
    config = get_config("sim16@2x1")
    compiled = compile_encoder_pipeline(model, config, length=40, texts=2)
    _, *sends = moves(compiled.program.commands[0], Send)
    assert len(sends) == 2 * ceil_div(40, default_block_rows(config))
    bases = [move.remote_base for move in sends[:len(sends) // 2]]
    assert bases == sorted(set(bases))
    # Each says that it has come, and waits for the passes of its own rows alone.
    assert all(move.remote_signal and move.wait for move in sends)


@pytest.mark.parametrize("layers", [2, 6])
def test_norms_that_follow_each_other_have_places_of_their_own(layers):
    """In one place, column constants could come no sooner than those before are out of use."""
    model = quantized(random_encoder(layers=layers))
    compiled = compile_encoder_pipeline(model, get_config("tiny@2x1"), length=8, texts=3)
    sections = {section.offset for section in compiled.program.sections[0]
                if section.name.startswith("norm")}
    for streams in compiled.program.commands:
        norms = [move for move in moves(streams, Load) if move.ext_base in sections]
        assert len({move.base for move in norms}) == 3
        assert all(before.base != after.base for before, after in pairwise(norms))


def test_residuals_of_two_texts_go_around(model):
    """The third text comes into the place of the first, for which a credit is needed."""
    compiled = compile_encoder_pipeline(model, get_config("tiny@2x1"), length=8, texts=3)
    _, first, second, third = moves(compiled.program.commands[0], Send)
    assert first.remote_base == third.remote_base != second.remote_base
    assert moves(compiled.program.commands[1], Notify)
    assert third.wait >> len(CHANNELS)
    assert not first.wait >> len(CHANNELS)


@pytest.mark.parametrize(("layers", "times"), [(1, 1), (4, 3)])
def test_weights_that_fit_into_the_core_are_loaded_once(layers, times):
    model = quantized(random_encoder(layers=2 * layers), group=10)
    compiled = compile_encoder_pipeline(model, get_config("tiny@2x1"), length=8, texts=3)
    loads = [move for move in moves(compiled.program.commands[0], Load)
             if move.region == Region.WGT]
    identity = 1
    assert len(loads) - identity == times * (len({move.ext_base for move in loads}) - identity)


def test_the_next_text_is_embedded_before_this_one_is_done(four, model):
    """Loads of words and products of positions stand among the products of the text before."""
    streams, words = four.program.commands[0], four.words
    places = [place for place, move in enumerate(streams[Engine.MOVE])
              if isinstance(move, Load) and move.ext_base == words]
    _, *sends = [place for place, move in enumerate(streams[Engine.MOVE])
                 if isinstance(move, Send)]
    assert len(places) == 3 * 8
    assert places[8:16] == sorted(places[8:16])
    assert max(places[8:16]) < sends[0] < min(places[16:])


def test_cores_without_a_layer_have_nothing_to_do(model):
    """The stages are the first cores along the way through the mesh."""
    compiled = compile_encoder_pipeline(model, get_config("tiny@3x2"), length=8, texts=3)
    assert list(compiled.stages) == [0, 1, 2, 5]
    for core in (3, 4):
        assert not any(compiled.program.commands[core].values())
    cluster = garbage(compiled.program.config)
    compiled.load(cluster)
    assert compiled.run(cluster, random_texts(8, 8, 8)).bit_exact


def test_guests_stand_before_every_second_of_the_last_products():
    products = [Product(count0=number) for number in range(1, 6)]
    others = [Pass(rows=number) for number in range(1, 6)]
    work = [command for pair in zip(products, others, strict=True) for command in pair]
    guests = [[Pass(rows=10)], [Pass(rows=11), Pass(rows=12)]]
    assert [*among(work, guests)] == [*work[:2], *guests[0], *work[2:6], *guests[1], *work[6:]]
    assert [*among(work, [])] == work


def test_limits_are_named(model, four):
    with pytest.raises(CompileError, match="needs at least 1 text, not 0"):
        compile_encoder_pipeline(model, get_config("tiny@2x1"), length=8, texts=0)
    small = get_config("tiny@2x1").replace(name="small@2x1", vec_depth=512)
    with pytest.raises(CompileError, match="nearest configuration that fits is 'tiny'"):
        compile_encoder_pipeline(model, small, length=40, texts=2)
    with pytest.raises(CompileError, match="there are 2 texts, but the pipeline was compiled for 3"
                       ):
        four.streams(random_texts(8, 8))
    with pytest.raises(CompileError, match=r"text 1 has 7 tokens, but .* compiled for 8"):
        four.streams(random_texts(8, 7, 8))
    with pytest.raises(CompileError, match="outside the vocabulary"):
        four.streams([*random_texts(8, 8), [50] * 8])
