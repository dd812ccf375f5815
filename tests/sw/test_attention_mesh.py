"""Attention alone, its heads shared out to the cores."""
import pytest

from systolith.hw.configs import get_config
from systolith.sw.compiler import CompileError
from systolith.sw.compiler.attention_mesh import compile_attention_mesh
from systolith.sw.runtime.functional_cluster import FunctionalCluster


@pytest.mark.parametrize(("name", "sizes"), [
    ("tiny@2x2", {"length": 9, "heads": 8, "head_dim": 6, "causal": True}),
    ("tall@2x1", {"length": 5, "heads": 2, "head_dim": 8}),
    ("mesh4", {"length": 32, "heads": 8, "head_dim": 32})])
def test_every_core_gives_its_heads(name, sizes):
    config = get_config(name)
    mixed = compile_attention_mesh(config, **sizes)
    results = mixed.run(FunctionalCluster(config))
    assert len(results) == config.cores
    assert all(result.bit_exact for result in results)
    columns = sum(result.output.shape[1] for result in results)
    assert columns == sizes["heads"] * sizes["head_dim"]


def test_heads_are_shared_evenly():
    with pytest.raises(CompileError, match="a multiple of the 4 cores of tiny@2x2, not 6"):
        compile_attention_mesh(get_config("tiny@2x2"), length=4, heads=6, head_dim=4)
