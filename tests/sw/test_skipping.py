"""Products of whole programs without the weight tiles that hold only zeros."""
import dataclasses

import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Pass, Product, Sink
from systolith.sw.compiler.skipping import ZeroSkipper, skip_zero_tiles
from systolith.sw.decoder import Session, compile_decoder
from systolith.sw.encoder import compile_encoder
from systolith.sw.models import load_model
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.program import Section
from tests.sw.encoders import quantized, random_encoder, random_texts
from tests.sw.layers import ALL_CONFIGS, compiled, random_layer

TINY = get_config("tiny")
SIZE = TINY.word_bytes(Region.WGT)

#: Tiles at words 0 to 7 of weight memory; 2, 3 and 6 are zero.
TILES = np.repeat(np.array([1, 1, 0, 0, 1, 1, 0, 1], np.int8), SIZE).tobytes()
LOAD = Load(region=Region.WGT, rows=1, row_bytes=len(TILES), ext_base=64, base=0)


def product(**fields):
    """20 rows, 4 input and 2 output tiles."""
    return Product(**{"count0": 4, "count1": 20, "count2": 2, "act0_stride": 1, "act1_stride": 4,
                      "wgt0_stride": 1, "wgt2_stride": 4, "acc1_stride": 2, "acc2_stride": 1,
                      "act_base": 7, "acc_base": 3, **fields})


IMAGE = (Section("w", "ext", 64, TILES),)


def skipped(*commands, sections=IMAGE):
    return [each for each in skip_zero_tiles(commands, sections, TINY)
            if isinstance(each, Product)]


@pytest.mark.parametrize("loads", [
    [LOAD],
    [Load(region=Region.WGT, rows=8, row_bytes=SIZE, ext_base=64, ext_stride=SIZE, stride=SIZE)],
    [dataclasses.replace(LOAD, row_bytes=3 * SIZE),
     Load(region=Region.WGT, rows=5, row_bytes=SIZE, ext_base=64 + 3 * SIZE, ext_stride=SIZE,
          stride=SIZE, base=3 * SIZE)]])
def test_runs_between_zeros(loads):
    assert skipped(*loads, product()) == [
        product(count0=2, count2=1),
        product(count0=2, count2=1, wgt_base=4, acc_base=4),
        product(count0=1, count2=1, wgt_base=7, act_base=10, acc_base=4, accumulate=1)]


def test_weights_that_the_host_writes():
    image = Section("w", Region.WGT, 8 * SIZE, TILES)
    assert len(skipped(product(wgt_base=8), sections=[image])) == 3
    assert skipped(product(), sections=[image]) == [product()]


def test_sums_go_on_where_they_did():
    first, *_ = skipped(LOAD, product(accumulate=1))
    assert first.accumulate == 1


@pytest.mark.parametrize("between", [
    Pass(sink=Sink.WGT_ROWS, rows=8, beats=1, sink_base=2, sink_row_stride=1, sink_tile_stride=1),
    Load(region=Region.WGT, rows=1, row_bytes=len(TILES), ext_base=4096),
    Load(region=Region.WGT, rows=1, row_bytes=len(TILES), ext_base=80)])
def test_what_is_not_known_to_be_zero_is_multiplied(between):
    """Values that a pass writes, and data that the image does not have all of."""
    assert skipped(LOAD, between, product(count2=1)) == [product(count2=1)]


def test_tiles_that_are_moved_in_part_are_multiplied():
    part = Load(region=Region.WGT, rows=1, row_bytes=SIZE, ext_base=64 + 2 * SIZE,
                base=2 * SIZE + 8)
    assert skipped(LOAD, part, product(count2=1)) == [product(count2=1)]


@pytest.mark.parametrize("fields", [
    {"wgt1_stride": 1}, {"acc0_stride": 1}, {"acc2_stride": 0}, {"acc1_stride": 0}])
def test_other_loops_stay_as_they_are(fields):
    assert skipped(LOAD, product(**fields)) == [product(**fields)]


def test_few_beats_stay_one_command():
    assert skipped(LOAD, product(count1=1)) == [product(count1=1)]


def test_programs_follow_each_other():
    skipper = ZeroSkipper(TINY, IMAGE)
    assert list(skipper.skip([LOAD])) == [LOAD]
    other = dataclasses.replace(LOAD, ext_base=4096)
    assert list(skipper.fork().skip([other, product()])) == [other, product()]
    assert len(list(skipper.fork().skip([product()]))) == 3


def prune(weight, rng, rows, columns, share=0.6):
    """``weight`` with a share of its blocks of rows and columns zero."""
    blocks = rng.random((-(-weight.shape[0] // rows), -(-weight.shape[1] // columns))) >= share
    mask = np.kron(blocks, np.ones((rows, columns)))
    return weight * mask[:weight.shape[0], :weight.shape[1]]


def beats(result):
    return result.counters.engines[Engine.MATRIX].busy


@pytest.mark.parametrize("name", ALL_CONFIGS)
def test_pruned_attention_layers(name):
    """Fewer beats than the same layer with all its weights, and still exact."""
    rng, config = np.random.default_rng(2), ALL_CONFIGS[name]
    dense = random_layer(rng, width=32, heads=2, kv_heads=1, head_dim=8)
    pruned = dataclasses.replace(dense, **{
        key: prune(getattr(dense, key), rng, config.rows, config.cols)
        for key in ("wq", "wk", "wv", "wo")})
    results = []
    for weights in (dense, pruned):
        layer, (x, h) = compiled(rng, weights, config, 30)
        results.append((layer, layer.run(FunctionalDevice(config), x, h)))
        assert results[-1][1].bit_exact
    (all_of_it, before), (part, after) = results
    assert beats(after) < 0.9 * beats(before)
    assert part.macs < 0.9 * all_of_it.macs
    assert part.macs <= beats(after) * config.peak_macs_per_cycle


def test_pruned_encoders():
    """Columns of the second product of the feed-forward network, blocks of the queries' weights."""
    rng, weights = np.random.default_rng(3), random_encoder()
    layers = tuple(dataclasses.replace(
        each, down=each.down * (np.arange(each.down.shape[1]) < 12),
        attention=dataclasses.replace(each.attention, wq=prune(each.attention.wq, rng, 4, 8, 0.3)))
        for each in weights.layers)
    text, results = random_texts(14)[0], []
    for model in (weights, dataclasses.replace(weights, layers=layers)):
        encoder = compile_encoder(quantized(model), TINY, length=14)
        device = FunctionalDevice(TINY)
        encoder.load(device)
        results.append((encoder, encoder.run(device, text)))
        assert results[-1][1].bit_exact
    (dense, before), (pruned, after) = results
    assert beats(after) < 0.95 * beats(before)
    assert pruned.macs < 0.9 * dense.macs
    assert pruned.macs <= beats(after) * TINY.peak_macs_per_cycle


def test_pruned_decoders():
    """A prefill and a step of glassllm's first layer with and without a share of its weights."""
    rng, config, model = np.random.default_rng(4), get_config("sim16"), load_model("glassllm")
    dense = dataclasses.replace(model.weights, layers=model.weights.layers[:1])
    (layer,) = dense.layers
    pruned = dataclasses.replace(dense, layers=(dataclasses.replace(
        layer, **{name: prune(getattr(layer, name), rng, 16, 16) for name in ("up", "down")}),))
    ids, results = model.encode(model.prompts[0])[:20], []
    for weights in (dense, pruned):
        session = Session(compile_decoder(dataclasses.replace(model, weights=weights), config),
                          FunctionalDevice(config))
        expected = decode(ids, session.compiled.model, Cache())
        results.append([session.prefill(ids[:-1]), session.step(ids[-1])])
        np.testing.assert_array_equal(results[-1][1].logits[-1], expected.logits[-1])
    for before, after in zip(*results, strict=True):
        assert beats(after) < beats(before)
        assert after.macs < 0.9 * before.macs
        assert after.macs <= beats(after) * config.peak_macs_per_cycle
