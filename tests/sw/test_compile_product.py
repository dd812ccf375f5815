"""Products by themselves."""
import pytest

from systolith.hw.configs import get_config
from systolith.sw.compiler import CompileError, compile_product
from systolith.sw.runtime.functional import FunctionalDevice
from tests.sw.layers import ALL_CONFIGS


@pytest.mark.parametrize("name", ALL_CONFIGS)
@pytest.mark.parametrize("size", [(1, 1, 1), (5, 9, 11), (33, 17, 20), (1, 100, 90)])
def test_products_are_exact(name, size):
    config = ALL_CONFIGS[name]
    m, k, n = size
    product = compile_product(config, m=m, k=k, n=n)
    assert product.macs == m * k * n
    assert product.run(FunctionalDevice(config)).bit_exact


@pytest.mark.parametrize("size", [(1, 576, 1536), (128, 384, 384)])
def test_benchmark_products(size):
    config = get_config("sim16")
    m, k, n = size
    result = compile_product(config, m=m, k=k, n=n).run(FunctionalDevice(config))
    assert result.bit_exact
    # The operands are spread enough that rounding and saturation both occur.
    assert result.output.min() < -100
    assert result.output.max() > 100


@pytest.mark.parametrize(("size", "message"), [
    ((0, 1, 1), "m must be from 1 to 65535, not 0"),
    ((1, 1, 70000), "n must be from 1 to 65535, not 70000"),
    ((128, 384, 384),
     "a product 128x384x384 needs 24576 words (98304 bytes) of activation memory, but "
     "configuration 'tiny' has 16384 words (65536 bytes); the nearest configuration that fits "
     "is 'sim16'"),
])
def test_products_that_do_not_fit(size, message):
    m, k, n = size
    with pytest.raises(CompileError) as error:
        compile_product(get_config("tiny"), m=m, k=k, n=n)
    assert str(error.value) == message
