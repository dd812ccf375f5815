"""Texts through teams of cores give every byte of the reference, one by one."""
import dataclasses

import numpy as np
import pytest

from systolith.hw.config import MEMORIES, ConfigError, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Send
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.site import Site
from systolith.sw.compiler.verifier import VerifyError, verify_mesh
from systolith.sw.encoder import compile_encoder, compile_encoder_placed
from systolith.sw.encoder.mesh.team import Area, default_teams, teams_of
from systolith.sw.encoder.mesh.teams import compile_encoder_teams
from systolith.sw.reference.addressing import targets
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from tests.sw.encoders import quantized, random_encoder, random_texts


def even_model(layers):
    """Heads, columns and groups that four cores share evenly."""
    return quantized(random_encoder(width=16, heads=4, hidden=64, layers=layers))


@pytest.fixture(scope="module")
def model():
    return even_model(4)


@pytest.fixture(scope="module")
def pairs():
    """Three texts on two teams of two cores, a layer each."""
    return compile_encoder_teams(even_model(2), get_config("tiny@2x2"), length=8, texts=3, teams=2)


def garbage(config, seed=3):
    """A functional cluster whose memories hold random bytes."""
    cluster, rng = FunctionalCluster(config), np.random.default_rng(seed)
    for core in cluster.cores:
        for region in MEMORIES:
            core.write(region, 0, rng.bytes(core.size(region)))
    return cluster


def sends(compiled, core):
    return [move for move in compiled.program.commands[core][Engine.MOVE]
            if isinstance(move, Send)]


def check(compiled):
    cluster, texts = garbage(compiled.program.config), len(compiled.outputs)
    compiled.load(cluster)
    for seed in (1, 2):
        assert compiled.run(cluster, random_texts(*[compiled.valid] * texts, seed=seed)).bit_exact


@pytest.mark.parametrize(("name", "length", "valid", "teams", "texts"), [
    ("tiny@2x1", 8, 8, 2, 3), ("tiny@2x2", 9, 8, 1, 2), ("tiny@4x2", 13, 13, 2, 3),
    ("tiny@4x4", 16, 14, 2, 3), ("sim16@2x2", 20, 20, 2, 3)])
def test_functional_cluster_equals_the_reference(model, name, length, valid, teams, texts):
    """Teams of one core, all cores, a rectangle, and one with parts of the text in its rows."""
    check(compile_encoder_teams(model, get_config(name), length=length, valid=valid, texts=texts,
                                teams=teams))


def test_heads_and_layers_that_are_not_even():
    """Three layers for two teams, and three heads and two groups for two cores."""
    check(compile_encoder_teams(quantized(random_encoder(layers=3)), get_config("tiny@2x2"),
                                length=7, texts=4, teams=2))


def test_weights_that_do_not_fit_are_streamed(model):
    """Each text has its weights loaded again; those that fit are loaded before the first."""
    config = get_config("tiny@2x2")
    small = config.replace(name="small", wgt_depth=128)
    resident, streamed = (compile_encoder_teams(model, each, length=9, texts=3, teams=2)
                          for each in (config, small))
    weights = [[each for each in program.commands[3][Engine.MOVE]
                if isinstance(each, Load) and each.region == Region.WGT]
               for program in (resident.program, resident.setup, streamed.program, streamed.setup)]
    identity = 1
    assert len(weights[0]) == identity
    assert weights[1]
    assert not weights[3]
    loaded = {each.ext_base for each in weights[2]}
    assert len(weights[2]) - identity == 3 * (len(loaded) - identity)
    check(streamed)


def test_texts_come_out_as_from_one_core(pairs):
    alone = compile_encoder(even_model(2), get_config("tiny"), length=8)
    device = FunctionalDevice(get_config("tiny"))
    alone.load(device)
    texts, cluster = random_texts(8, 8, 8), garbage(pairs.program.config)
    pairs.load(cluster)
    output, _ = pairs.embed(cluster, texts)
    assert np.array_equal(output, [alone.embed(device, ids)[0] for ids in texts])


def test_data_stay_in_the_team_or_go_to_the_next(model):
    """Only the lead hands on, to the whole next team; all else stays in the rectangle."""
    config = get_config("tiny@4x2")
    compiled = compile_encoder_teams(model, config, length=8, texts=2, teams=2)
    first, second = ({*team.cores} for team in teams_of(config, 2))
    for core in range(config.cores):
        own = first if core in first else second
        reached = {frozenset(targets(move, config, core)) for move in sends(compiled, core)}
        others = {each for each in reached if not each <= own}
        assert others == ({frozenset(second)} if core == 0 else set())


def test_a_residual_waits_until_the_one_before_it_has_been_read(pairs):
    """Without waiting, the third text's could come over the first one's: the verifier sees it."""
    config = pairs.program.config
    verify_mesh(config, pairs.program.commands)
    streams = [dict(core) for core in pairs.program.commands]
    team = {*teams_of(config, 2)[0].cores}
    handed = [place for place, move in enumerate(streams[0][Engine.MOVE])
              if isinstance(move, Send) and not {*targets(move, config, 0)} <= team]
    streams[0][Engine.MOVE] = [*streams[0][Engine.MOVE]]
    streams[0][Engine.MOVE][handed[-1]] = dataclasses.replace(
        streams[0][Engine.MOVE][handed[-1]], wait=0)
    with pytest.raises(VerifyError):
        verify_mesh(config, streams)


def test_a_missing_hand_over_shows(pairs):
    """Another residual gives another vector: the comparison can fail."""
    streams = [dict(core) for core in pairs.program.commands]
    streams[0][Engine.MOVE] = [
        dataclasses.replace(move, base=0) if isinstance(move, Send) and move.y_first == 1 else move
        for move in streams[0][Engine.MOVE]]
    broken = dataclasses.replace(
        pairs, program=dataclasses.replace(pairs.program, commands=streams))
    cluster = garbage(pairs.program.config)
    broken.load(cluster)
    assert not broken.run(cluster, random_texts(8, 8, 8)).bit_exact


def test_teams_are_equal_rectangles_side_by_side():
    assert [team.area for team in teams_of(get_config("tiny@4x2"), 2)] == [
        Area(0, 1, 0, 1), Area(2, 3, 0, 1)]
    cores = [team.cores for team in teams_of(get_config("tiny@4x4"), 4)]
    assert cores == [[0, 1, 4, 5], [2, 3, 6, 7], [10, 11, 14, 15], [8, 9, 12, 13]]
    assert [team.width for team in teams_of(get_config("tiny@4x4"), 8)] == [2] * 8


@pytest.mark.parametrize(("name", "layers", "teams"), [
    ("tiny@4x2", 6, 2), ("tiny@3x2", 6, 3), ("tiny@2x2", 6, 2), ("tiny@2x1", 6, 2),
    ("tiny@4x2", 4, 4), ("tiny@4x4", 6, 2), ("tiny@2x2", 1, 1)])
def test_the_number_of_teams_suits_the_layers(name, layers, teams):
    assert default_teams(get_config(name), layers) == teams


def test_limits_are_named(model, pairs):
    config = get_config("tiny@2x2")
    with pytest.raises(CompileError, match="cores of 'tiny@2x2' cannot be divided into 3 equal "
                                           "rectangles; choose a number of teams of 1, 2, 4"):
        compile_encoder_teams(model, config, length=8, texts=2, teams=3)
    with pytest.raises(CompileError, match=r"8 teams for 4 layers.*choose at most 4"):
        compile_encoder_teams(model, get_config("tiny@4x2"), length=8, texts=2, teams=8)
    with pytest.raises(CompileError, match="needs at least 1 text, not 0"):
        compile_encoder_teams(model, config, length=8, texts=0)
    with pytest.raises(CompileError, match="weight memory"):
        compile_encoder_teams(model, config.replace(name="small", wgt_depth=32), length=8, texts=2)
    with pytest.raises(CompileError, match=r"text 1 has 7 tokens, but .* compiled for 8"):
        pairs.streams(random_texts(8, 7, 8))
    with pytest.raises(ConfigError, match="a number of teams, 2, is for placement 'groups' alone"):
        compile_encoder_placed(model, Site.of(config), length=8, placement="layers", teams=2)


def test_placed_teams_say_what_each_core_does(model):
    site = Site.of(get_config("tiny@2x2"))
    placed = compile_encoder_placed(model, site, length=8, placement="groups", teams=2)
    assert [(duty["team"], duty["layers"], duty["heads"]) for duty in placed.duties()] == [
        ((0, 1), (0, 2), (0, 2)), ((0, 1), (0, 2), (2, 4)),
        ((1, 2), (2, 4), (0, 2)), ((1, 2), (2, 4), (2, 4))]
