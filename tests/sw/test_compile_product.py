"""Products by themselves."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine
from systolith.sw.compiler import CompileError, compile_product
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.runtime.functional import FunctionalDevice
from tests.sw.layers import ALL_CONFIGS


def pruned(rng, k, n, tile, share):
    """INT8 (k, n) with a share of its tiles zero."""
    weight = rng.integers(-128, 128, (k, n))
    for row in range(0, k, tile[0]):
        for column in range(0, n, tile[1]):
            if rng.random() < share:
                weight[row:row + tile[0], column:column + tile[1]] = 0
    return weight


@pytest.mark.parametrize("name", ALL_CONFIGS)
@pytest.mark.parametrize("size", [(1, 1, 1), (5, 9, 11), (33, 17, 20), (1, 100, 90)])
def test_products_are_exact(name, size):
    config = ALL_CONFIGS[name]
    m, k, n = size
    product = compile_product(config, m=m, k=k, n=n)
    assert product.macs == m * k * n
    assert product.moved == ()
    assert product.run(FunctionalDevice(config)).bit_exact


@pytest.mark.parametrize("name", [name for name, each in ALL_CONFIGS.items() if each.ext_bytes])
@pytest.mark.parametrize(("size", "batch"), [
    ((1, 1, 1), 1), ((70, 17, 20), 1), ((1, 60, 90), 1), ((35, 9, 20), 3), ((2, 20, 9), 5)])
def test_products_through_external_memory_are_exact(name, size, batch):
    config = ALL_CONFIGS[name]
    m, k, n = size
    product = compile_product(config, m=m, k=k, n=n, batch=batch, resident=False)
    assert product.macs == batch * m * k * n
    assert product.moved == ("a", "b", "result")
    result = product.run(FunctionalDevice(config))
    assert result.output.shape == (batch * m, n)
    assert result.output.dtype == np.int16
    assert result.bit_exact


@pytest.mark.parametrize("size", [(1, 576, 1536), (128, 384, 384)])
def test_benchmark_products(size):
    config = get_config("sim16")
    m, k, n = size
    result = compile_product(config, m=m, k=k, n=n).run(FunctionalDevice(config))
    assert result.bit_exact
    # The operands are spread enough that rounding and saturation both occur.
    assert result.output.min() < -100
    assert result.output.max() > 100


def test_operands_move_once():
    config = get_config("sim16")
    product = compile_product(config, m=100, k=40, n=70, resident=False)
    moved = product.run(FunctionalDevice(config)).counters.move_bytes
    assert moved == 100 * 48 + 48 * 80 + 100 * 80 * 2


@pytest.mark.parametrize(("size", "moved"), [
    ((128, 384, 384), ()), ((128, 384, 1536), ("result",)), ((128, 1536, 384), ("a", "result"))])
def test_what_does_not_fit_goes_through_external_memory(size, moved):
    m, k, n = size
    assert compile_product(get_config("sim16"), m=m, k=k, n=n).moved == moved


@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_zero_tiles_are_left_out(share, resident):
    config, rng = get_config("tiny"), np.random.default_rng(8)
    weight = pruned(rng, 64, 40, (config.rows, config.cols), share)
    product = compile_product(config, m=30, k=64, n=40, weight=weight, resident=resident)
    tiles = weight.reshape(16, 4, 10, 4).any(axis=(1, 3))
    assert product.macs == 30 * np.count_nonzero(tiles) * 16
    result = product.run(FunctionalDevice(config))
    assert result.bit_exact
    # A tile for each column of tiles that is empty, to clear its sums.
    wanted = 30 * (np.count_nonzero(tiles) + np.count_nonzero(~tiles.any(axis=0)))
    assert result.counters.engines[Engine.MATRIX].busy == wanted


def test_one_row_keeps_zero_tiles_that_cost_less_than_a_command():
    config = get_config("tiny")
    weight = np.ones((400, 4), dtype=np.int64)
    weight[36:40] = 0
    weight[100:200] = 0
    result = compile_product(config, m=1, k=400, n=4, weight=weight).run(FunctionalDevice(config))
    assert result.bit_exact
    assert result.counters.engines[Engine.MATRIX].busy == 75
    assert result.counters.engines[Engine.MATRIX].commands == 2


def test_weights_of_zero_tiles_are_not_moved():
    config, rng = get_config("sim16"), np.random.default_rng(3)
    weight = pruned(rng, 512, 256, (16, 16), 0.5)
    present = np.count_nonzero(weight.reshape(32, 16, 16, 16).any(axis=(1, 3)))
    product = compile_product(config, m=32, k=512, n=256, weight=weight, resident=False)
    counters = product.run(FunctionalDevice(config)).counters
    size = config.word_bytes(Region.WGT)
    assert counters.move_bytes == 32 * 512 + present * size + 32 * 256 * 2


@pytest.mark.parametrize(("size", "config", "message"), [
    ({"m": 0}, "tiny", "m must be from 1 to 65535, not 0"),
    ({"n": 70000}, "tiny", "n must be from 1 to 65535, not 70000"),
    ({"batch": 0}, "tiny", "batch must be from 1 to 65535, not 0"),
    ({"weight": np.ones((2, 1))}, "tiny", "the weight has shape (2, 1), not (1, 1)"),
    ({"resident": False}, "wide",
     "configuration 'wide' has no external memory to load operands from; use resident operands, "
     "or set ext_bytes"),
    ({"m": 128, "k": 384, "n": 384}, "tiny",
     "a product 128x384x384 needs 9216 words (147456 bytes) of weight memory, but configuration "
     "'tiny' has 8192 words (131072 bytes); the nearest configuration that fits is 'sim16'"),
])
def test_products_that_cannot_be_compiled(size, config, message):
    with pytest.raises(CompileError) as error:
        compile_product(ALL_CONFIGS[config], **{"m": 1, "k": 1, "n": 1, **size})
    assert str(error.value) == message


def test_long_contractions_have_few_rows_a_block():
    """The rows of two blocks fill activation memory."""
    config = get_config("tiny")
    product = compile_product(config, m=40, k=3000, n=4, resident=False)
    assert product.plan.block_rows < 32
    assert product.plan.block_rows * 2 * ceil_div(3000, config.rows) <= config.act_depth
    assert product.run(FunctionalDevice(config)).bit_exact
