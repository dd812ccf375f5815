"""Single positions, whose heads, output products and hidden rows come in pieces."""
from functools import cache

import numpy as np
import pytest

from systolith.hw.config import MEMORIES
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine
from systolith.sim.benchmarks.synthetic import random_decoder
from systolith.sw.decoder import Session, compile_decoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.estimate import estimate
from systolith.sw.models import load_model
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.runtime.functional import FunctionalDevice


@cache
def glassllm():
    return compile_decoder(load_model("glassllm"), get_config("sim16"))


def products(model, *shape):
    return model.run(Shape(*shape)).program.commands[Engine.MATRIX]


def pieces(model, *shape):
    """Products that add to what another left."""
    return sum(product.accumulate for product in products(model, *shape))


def check(model, before, steps, seed=0):
    """So many tokens at once, then one by one, in memories full of garbage."""
    device, rng = FunctionalDevice(model.config), np.random.default_rng(seed)
    for region in MEMORIES:
        device.write(region, 0, rng.bytes(device.size(region)))
    session = Session(model, device)
    ids = rng.integers(0, model.model.vocabulary, before + steps).tolist()
    expected = decode(ids, model.model, Cache())
    session.prefill(ids[:before])
    for place in range(before, before + steps):
        result = session.prefill([ids[place]])
        np.testing.assert_array_equal(result.logits[-1], expected.logits[place])
        assert result.token == expected.tokens[place]


def test_around_the_change_to_single_heads():
    """Heads that share keys are attended together up to 80 positions: five tiles of keys, two
    beats each, take no longer than a command."""
    check(glassllm(), 78, 5)
    scores = [product for product in products(glassllm(), 1, 79) if product.count1 == 2]
    assert len(scores) == 4 * 2 * 2  # layers, heads of keys, scores and mixed values
    assert not [product for product in products(glassllm(), 1, 80) if product.count1 == 2]


#: Ragged heads and hidden rows; query heads that share keys; more heads than a wave holds.
SIZES = {
    "groups of 3": {"width": 180, "heads": 9, "kv_heads": 3, "hidden": 300},
    "one group": {"width": 96, "heads": 4, "kv_heads": 1, "hidden": 250},
    "no groups": {"width": 112, "heads": 7, "kv_heads": 7, "hidden": 129},
    "many heads": {"width": 192, "heads": 24, "kv_heads": 6, "hidden": 97}}


@pytest.mark.parametrize("config", ["sim16", "tiny", "tall"])
@pytest.mark.parametrize("sizes", SIZES)
def test_ragged_sizes(sizes, config):
    if config == "sim16":
        config, before = get_config(config), 90
    else:
        config, before = get_config(config).replace(name="large", wgt_depth=32768), 20
    model = compile_decoder(random_decoder(sizes, **SIZES[sizes], positions=before + 3), config)
    assert pieces(model, 1, before)
    check(model, before, 3)


def test_pieces_only_where_they_pay():
    """Not with more rows, streamed weights, or products as short as their command."""
    assert pieces(glassllm(), 1, 100) == 4 * (3 + 1)  # layers: output product, down
    assert pieces(glassllm(), 1, 10) == 4 * (1 + 1)
    assert not pieces(glassllm(), 2, 10)
    few = get_config("sim16").replace(name="few-weights", wgt_depth=512)
    streamed = compile_decoder(load_model("glassllm"), few, context=48)
    assert streamed.residents.streamed
    assert not pieces(streamed, 1, 10)
    assert not pieces(compile_decoder(load_model("mathformer-add"), get_config("tiny")), 1, 6)


def test_a_step_keeps_the_array_busy():
    """At least 62 % of the array's peak with weights in the core, at context 100."""
    program = glassllm().run(Shape(1, 100)).program
    cycles = estimate(program.config, program.commands).cycles
    assert program.macs / program.config.peak_macs_per_cycle / cycles >= 0.62
