"""Products whose sums stay in the accumulators."""
import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.sw.compiler import CompileError
from systolith.sw.compiler.sums import compile_sums
from systolith.sw.runtime.functional import FunctionalDevice


@pytest.mark.parametrize("name", ["tiny", "tall", "sim16", "ice40up5k"])
@pytest.mark.parametrize("size", [(1, 1, 1), (3, 17, 5), (16, 64, 30)])
def test_sums_are_those_of_numpy(name, size):
    m, k, n = size
    sums = compile_sums(get_config(name), m=m, k=k, n=n, seed=m)
    result = sums.run(FunctionalDevice(sums.program.config))
    assert result.bit_exact
    assert np.array_equal(result.output, sums.a @ sums.b)
    assert result.output.shape == (m, n)
    assert sums.macs == m * k * n


@pytest.mark.parametrize(("size", "message"), [
    ({"k": 0}, "k must be from 1 to 65535, not 0"),
    ({"m": 1, "k": 8, "n": 70000}, "n must be from 1 to 65535, not 70000"),
    ({"m": 256, "k": 4096}, "the sums of a product 256x4096x1 needs 131072 words (1048576 bytes) "
     "of activation memory, but configuration 'ice40up5k' has 512 words (4096 bytes); none of the "
     "named configurations (tiny, tall, sim16, deep16) fits: make it smaller or enlarge that "
     "memory"),
    ({"m": 64, "n": 64}, "the sums of a product 64x1x64 needs 2048 words (16384 bytes) of "
     "accumulator memory, but configuration 'ice40up5k' has 512 words (4096 bytes); the nearest "
     "configuration that fits is 'tiny'"),
])
def test_sizes_that_cannot_be(size, message):
    with pytest.raises(CompileError) as error:
        compile_sums(get_config("ice40up5k"), **{"m": 1, "k": 1, "n": 1} | size)
    assert str(error.value) == message
