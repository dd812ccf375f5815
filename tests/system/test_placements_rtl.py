"""Models on several cores of the RTL, with and without all of them: the bytes of the reference."""
import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.sim.rtl import RtlDevice
from systolith.sim.rtl_cluster import RtlCluster
from systolith.sw.compiler.site import Site
from systolith.sw.decoder import SideBySideSession, compile_decoder, open_session
from systolith.sw.encoder import compile_encoder, compile_encoder_placed
from systolith.sw.encoder.placement import PLACEMENTS
from systolith.sw.models import load_model
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.reference.encoder import embed
from tests.sw.encoders import quantized, random_encoder, random_texts
from tests.system.test_encoder_mesh_rtl import first_layer

TINY = get_config("tiny@2x2")


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("off", [(), (2,), (0, 3)])
def test_an_encoder_on_the_cores_that_are_on(placement, off):
    """Those that are off are held in reset."""
    model, site = quantized(random_encoder(layers=4)), Site.of(TINY, off)
    program = compile_encoder_placed(model, site, length=14, placement=placement)
    with RtlCluster(TINY, off=off) as chip:
        program.load(chip)
        for seed in range(2):
            texts = random_texts(*[14] * PLACEMENTS[placement].at_once(site), seed=seed)
            vectors, counters = program.embed_texts(chip, texts)
            assert counters.cycles > 0
            for ids, vector in zip(texts, vectors, strict=True):
                np.testing.assert_array_equal(vector, embed(ids, model))


@pytest.mark.parametrize("off", [(1,), (0, 2)])
def test_a_decoder_on_the_cores_that_are_on(off):
    model = load_model("mathformer-mul")
    compiled, cache, ids = compile_decoder(model, TINY, off=off), Cache(), model.encode("7*8=")
    with RtlCluster(TINY, off=off) as chip:
        session = open_session(compiled, chip)
        for _ in range(3):
            result, expected = session.prefill(ids), decode(ids, compiled.model, cache)
            np.testing.assert_array_equal(result.logits[-1], expected.logits[-1])
            ids = [result.token]


@pytest.mark.parametrize("off", [(), (3,)])
def test_a_text_on_each_core(off):
    model = load_model("mathformer-mul")
    compiled, texts = compile_decoder(model, TINY.core), ("7*8=", "98*76=", "3*4=", "9*9=")
    with RtlCluster(TINY, off=off, stall_percent=20) as chip:
        session = SideBySideSession(compiled, chip)
        ids = [model.encode(text) for text in texts[:len(session.lanes)]]
        caches = [Cache() for _ in ids]
        for _ in range(3):
            results = session.prefill(ids).results
            for own, cache, result in zip(ids, caches, results, strict=True):
                expected = decode(own, compiled.model, cache)
                np.testing.assert_array_equal(result.logits[-1], expected.logits[-1])
            ids = [[result.token] for result in results]


@pytest.mark.slow
def test_minilm_layers_side_by_side():
    """Each core has a text of 128 tokens. External memory brings the weights for all in time, but
    for those of the start, which all cores want at once."""
    (model, ids), config = first_layer(), get_config("mesh4")
    texts = [[*ids[:64], *ids[64 + shift:], *ids[64:64 + shift]] for shift in range(4)]
    alone = compile_encoder(model, config.core, length=128)
    with RtlDevice(config.core) as device:
        alone.load(device)
        _, one = alone.embed(device, ids)
    program = compile_encoder_placed(model, Site.of(config), length=128, placement="texts")
    with RtlCluster(config) as chip:
        program.load(chip)
        vectors, four = program.embed_texts(chip, texts)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal(vector, embed(text, model))
    print(f"one core {one.cycles} cycles, a text; four cores {four.cycles}, four texts")
    assert 4 * one.cycles > 3.5 * four.cycles
