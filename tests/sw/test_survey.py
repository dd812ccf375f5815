"""What is read off a program, compared with what its run counts."""
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Notify, Product, Send, Store
from systolith.sw.compiler.site import Site
from systolith.sw.compiler.survey import packets, survey
from systolith.sw.decoder import compile_decoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.encoder import compile_encoder_placed
from systolith.sw.encoder.placement import PLACEMENTS
from systolith.sw.models import load_model
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from systolith.sw.runtime.mesh_program import MeshProgram
from systolith.sw.runtime.program import Section
from tests.sw.encoders import quantized, random_encoder

TINY = get_config("tiny@2x2")
SEND = Send(region=Region.ACT, rows=2, row_bytes=8, stride=8, remote_region=Region.VEC,
            remote_stride=8, x_last=1)


def test_small_program():
    program = MeshProgram(TINY, [
        {Engine.MOVE: [Load(region=Region.WGT, rows=1, row_bytes=64), SEND],
         Engine.MATRIX: [Product(count0=4, count1=2, count2=1, act0_stride=1, acc0_stride=1)]},
        {}, {Engine.MOVE: [Store(region=Region.ROW, rows=1, row_bytes=8)]}, {}],
        {3: [Section("x", Region.ROW, 0, bytes(16))]})
    first, second, third, fourth = survey(program)
    assert (first.array_beats, first.loaded[Region.WGT], first.sent) == (8, 64, 16)
    assert first.commands == {Engine.MOVE: 2, Engine.MATRIX: 1, Engine.VECTOR: 0}
    assert first.used[Region.WGT] == 4 / TINY.wgt_depth
    assert second.received[Region.VEC] == 16
    assert second.used[Region.VEC] == 2 / TINY.vec_depth
    assert (third.stored, sum(third.received.values())) == (8, 0)
    assert fourth.kept[Region.ROW] == 16
    assert fourth.used[Region.ROW] == 4 / TINY.row_depth
    assert sum(survey(program, off=(1,))[1].received.values()) == 0


def test_packets_are_beats_and_signals():
    program = MeshProgram(TINY, [{Engine.MOVE: [SEND, Notify(remote_signal=1)]}, {}, {}, {}])
    assert [(each.source, each.count) for each in packets(program)] == [
        (0, 16 // TINY.bus_bytes), (0, 1)]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_moves_are_those_that_the_counters_count(placement):
    compiled = compile_encoder_placed(quantized(random_encoder(layers=4)), Site.of(TINY), length=16,
                                      placement=placement)
    cluster = FunctionalCluster(TINY)
    compiled.load(cluster)
    counters = compiled.program.run(cluster)
    for each, counted in zip(survey(compiled.program), counters, strict=True):
        assert sum(each.loaded.values()) + each.stored + each.sent == counted.move_bytes
        assert each.array_beats == counted.engines[Engine.MATRIX].busy
        assert not any(each.kept.values())


def test_weights_of_a_decoder_are_kept():
    compiled = compile_decoder(load_model("mathformer-mul"), TINY)
    for each in survey(compiled.run(Shape(1, 4)).program, compiled.setup):
        assert each.kept[Region.WGT] > 0
        assert each.loaded[Region.WGT] == 0
        assert 0 < each.used[Region.WGT] < 1
