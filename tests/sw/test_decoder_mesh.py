"""Decoders on several cores give every token and logit of a core alone."""
import numpy as np
import pytest

from systolith.hw.config import MEMORIES
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Product, Send
from systolith.sw.compiler import CompileError
from systolith.sw.decoder import MeshDecoder, MeshSession, compile_decoder, open_session
from systolith.sw.decoder.compiled import Shape
from systolith.sw.models import load_model
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from tests.sw.decoders import quantized, random_decoder, random_tokens


def garbage(config, seed=3):
    """A functional cluster whose memories hold random bytes."""
    cluster, rng = FunctionalCluster(config), np.random.default_rng(seed)
    for core in cluster.cores:
        for region in MEMORIES:
            core.write(region, 0, rng.bytes(core.size(region)))
    return cluster


def check(session, cache, ids, **options):
    """Add tokens to a session and to the reference; compare; the next token."""
    result = session.prefill(ids, **options)
    expected = decode(ids, session.compiled.model, cache)
    rows = slice(None) if options.get("all_logits") else slice(-1, None)
    np.testing.assert_array_equal(result.logits, expected.logits[rows])
    assert result.token == expected.tokens[-1]
    return result.token


@pytest.mark.parametrize("name", ["tiny@2x1", "tiny@2x2", "tall@2x2", "tall@3x1", "sim16@2x2",
                                  "tiny@4x2", "tiny@5x2"])
@pytest.mark.parametrize("sizes", [{}, {"heads": 3, "kv_heads": 3},
                                   {"width": 12, "hidden": 5}])
def test_random_decoders(name, sizes):
    """One row, blocks of rows, cores without a part, in garbage."""
    config, model = get_config(name), quantized(random_decoder(large=1.0, **sizes))
    assert not model.columned
    session = MeshSession(MeshDecoder("random", model, config, 32), garbage(config))
    reference, ids = Cache(), random_tokens(23)
    for part, every in ((ids[:1], False), (ids[1:9], True), (ids[9:10], True), (ids[10:22], False),
                        (ids[22:], False)):
        check(session, reference, part, all_logits=every)


def test_columned_residual():
    config, model = get_config("tiny@2x2"), quantized(random_decoder())
    assert model.columned
    session = MeshSession(MeshDecoder("random", model, config, 32), garbage(config))
    reference, ids = Cache(), random_tokens(20)
    check(session, reference, ids[:19], all_logits=True)
    check(session, reference, ids[19:])


@pytest.mark.parametrize("name", ["2x1", "mesh4"])
def test_glassllm(name):
    model = load_model("glassllm")
    compiled = compile_decoder(model, get_config(name))
    session, reference = open_session(compiled, garbage(compiled.config)), Cache()
    token = check(session, reference, model.encode("Alice was beginning to"), all_logits=True)
    for _ in range(3):
        token = check(session, reference, [token])


def test_second_sequence_ignores_the_first():
    model = load_model("mathformer-mul")
    compiled = compile_decoder(model, get_config("tiny@2x2"))
    session = open_session(compiled, FunctionalCluster(compiled.config))
    session.prefill(model.encode("98*76=54"))
    session.restart()
    check(session, Cache(), model.encode("7*8="))


def test_products_are_shared_out():
    """No core of four has more than 36 % of the beats of a step of one."""
    config, model = get_config("sim16@2x2"), compile_decoder(load_model("glassllm"),
                                                             get_config("sim16")).model

    def beats(streams):
        return sum(each.count0 * each.count1 * each.count2 for each in streams[Engine.MATRIX])

    alone = compile_decoder(load_model("glassllm"), config.core).run(Shape(1, 100)).program
    cores = MeshDecoder("glassllm", model, config, 128).run(Shape(1, 100)).program.commands
    assert all(isinstance(each, Product) for core in cores for each in core[Engine.MATRIX])
    assert max(map(beats, cores)) < 0.36 * beats(alone.commands)
    assert all(any(isinstance(each, Send) for each in core[Engine.MOVE]) for core in cores)


def test_weights_that_do_not_fit():
    config = get_config("tiny@2x1").replace(name="small@2x1", wgt_depth=256)
    with pytest.raises(CompileError, match="do not fit the 2 cores of 'small@2x1'"):
        MeshDecoder("random", quantized(random_decoder()), config, 32)
