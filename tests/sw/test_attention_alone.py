"""Attention by itself: exact, and no beat for a tile of keys that no row of it sees."""
import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import Engine
from systolith.sw.compiler import CompileError
from systolith.sw.compiler.attention_alone import compile_attention_alone
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.runtime.functional import FunctionalDevice
from tests.sw.layers import ALL_CONFIGS


@pytest.mark.parametrize("name", ALL_CONFIGS)
@pytest.mark.parametrize("options", [
    {"length": 1, "heads": 1, "head_dim": 4}, {"length": 19, "heads": 2, "head_dim": 6},
    {"length": 21, "heads": 4, "kv_heads": 2, "head_dim": 8, "causal": True},
    {"length": 18, "heads": 2, "head_dim": 5, "valid": 11}])
def test_attention_is_exact(name, options):
    mixed = compile_attention_alone(ALL_CONFIGS[name], **options)
    result = mixed.run(FunctionalDevice(ALL_CONFIGS[name]))
    assert result.output.shape == (options["length"], options["heads"] * options["head_dim"])
    assert result.bit_exact


def test_results_are_spread():
    """Neither one key nor all keys alike, and few results saturate."""
    config = get_config("sim16")
    result = compile_attention_alone(config, length=128, heads=2, head_dim=32).run(
        FunctionalDevice(config))
    assert result.bit_exact
    assert 10 < abs(result.output.astype(int)).mean() < 60


@pytest.mark.parametrize(("length", "valid"), [(128, 128), (100, 100), (96, 40)])
def test_tiles_that_the_mask_hides_are_skipped(length, valid):
    """A row meets the tiles of the keys it sees and no others: above the diagonal, and padding."""
    config, heads, size = get_config("sim16"), 2, 32
    for causal in (False, True):
        mixed = compile_attention_alone(config, length=length, heads=heads, head_dim=size,
                                        valid=valid, causal=causal)
        result = mixed.run(FunctionalDevice(config))
        assert result.bit_exact
        seen = [min(valid, row + 1) if causal else valid for row in range(length)]
        # Rows of a block of 16 end in one tile of keys.
        tiles = sum(ceil_div(keys, 16) for keys in seen)
        assert result.counters.engines[Engine.MATRIX].busy == heads * tiles * 2 * size // 16
        assert mixed.macs == 2 * heads * size * sum(seen)


@pytest.mark.parametrize(("options", "message"), [
    ({"length": 0}, "length must be from 1 to 65535, not 0"),
    ({"heads": 3, "kv_heads": 2}, "heads must be a multiple of kv_heads, not 3 of 2"),
    ({"valid": 9}, "valid must be from 1 to the length, 8, not 9"),
    ({"length": 5000}, "attention of 2 heads of 4 at length 5000 needs")])
def test_what_cannot_be_compiled(options, message):
    with pytest.raises(CompileError, match=message):
        compile_attention_alone(get_config("tiny"),
                                **{"length": 8, "heads": 2, "head_dim": 4, **options})
