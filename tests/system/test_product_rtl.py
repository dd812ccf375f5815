"""Products on the RTL: exact with and without stalls, and as fast as their limits allow."""
import dataclasses

import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Product
from systolith.sim.rtl import RtlDevice
from systolith.sw.compiler import compile_product
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.zero_tiles import COMMAND_CYCLES
from tests.sw.layers import compiled, random_layer


@pytest.fixture(scope="module")
def sim16():
    with RtlDevice(get_config("sim16")) as device:
        yield device


@pytest.mark.parametrize("stall", [0, 40])
@pytest.mark.parametrize("resident", [True, False])
def test_products_are_exact(resident, stall):
    config = get_config("tiny")
    with RtlDevice(config, stall_percent=stall, seed=5) as device:
        for m, k, n, batch in ((1, 60, 50, 1), (45, 17, 21, 1), (35, 9, 12, 3)):
            product = compile_product(config, m=m, k=k, n=n, batch=batch, resident=resident)
            assert product.run(device).bit_exact


@pytest.mark.parametrize("size", [(3, 3, 3), (1, 384, 384), (65, 257, 129), (127, 31, 33),
                                  (1, 576, 192)])
def test_resident_products_cost_their_tiles_and_little_more(sim16, size):
    m, k, n = size
    result = compile_product(sim16.config, m=m, k=k, n=n).run(sim16)
    assert result.bit_exact
    bound = m * ceil_div(k, 16) * ceil_div(n, 16)
    # Start, depth of both pipelines and the last drain.
    assert result.counters.cycles <= bound + 80
    assert result.counters.cycles <= 1.1 * bound + 64


@pytest.mark.parametrize(("size", "share"), [((128, 384, 384), 0.98), ((100, 512, 512), 0.95)])
def test_moves_hide_under_the_array(sim16, size, share):
    m, k, n = size
    product = compile_product(sim16.config, m=m, k=k, n=n, resident=False)
    result = product.run(sim16)
    assert result.bit_exact
    assert product.macs >= share * 256 * result.counters.cycles


def test_the_array_hides_under_the_moves_of_one_row(sim16):
    result = compile_product(sim16.config, m=1, k=576, n=576, resident=False).run(sim16)
    assert result.bit_exact
    assert result.counters.move_bytes >= 0.99 * 16 * result.counters.cycles


def test_a_command_takes_so_many_cycles_at_least(sim16):
    """The price of a command against which zero tiles are weighed."""
    def cycles(beats, commands):
        sim16.run({Engine.MATRIX: commands * [Product(count0=beats, count1=1, count2=1)]})
        return sim16.wait().cycles
    for beats in (1, COMMAND_CYCLES, COMMAND_CYCLES + 5):
        assert cycles(beats, 50) - cycles(beats, 10) == 40 * max(beats, COMMAND_CYCLES)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_zero_tiles_cost_no_cycles(sim16, share):
    rng = np.random.default_rng(4)
    present = rng.random((24, 24)) >= share
    weight = rng.integers(-128, 128, (384, 384)) * np.kron(present, np.ones((16, 16), np.int64))
    product = compile_product(sim16.config, m=64, k=384, n=384, weight=weight)
    result = product.run(sim16)
    assert result.bit_exact
    beats = 64 * np.count_nonzero(present)
    assert result.counters.engines[Engine.MATRIX].busy == beats
    assert product.macs == 256 * beats
    assert result.counters.cycles <= 1.02 * beats + 64


def test_pruned_layers_take_fewer_cycles():
    """An attention layer with half of its weight tiles gone, on the RTL with stalls."""
    rng, config = np.random.default_rng(1), get_config("tiny")
    dense = random_layer(rng, width=32, heads=2, kv_heads=1, head_dim=8)
    mask = np.kron(rng.random((8, 4)) < 0.5, np.ones((4, 4)))
    pruned = dataclasses.replace(dense, wq=dense.wq * mask, wo=dense.wo * mask.T)
    cycles = []
    with RtlDevice(config, stall_percent=20, seed=2) as device:
        for weights in (dense, pruned):
            layer, (x, h) = compiled(rng, weights, config, 40)
            result = layer.run(device, x, h)
            assert result.bit_exact
            cycles.append(result.counters.cycles)
    assert cycles[1] < 0.9 * cycles[0]
