"""How a decoder is shared out to cores."""
import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.sw.compiler import CompileError
from systolith.sw.decoder.share import even, shares_of, whole_share
from tests.sw.decoders import quantized, random_decoder


@pytest.mark.parametrize(("count", "parts", "sizes"), [
    (8, 4, [2, 2, 2, 2]), (22, 4, [6, 6, 5, 5]), (2, 3, [1, 1, 0]), (0, 2, [0, 0])])
def test_even_parts_cover_all_once(count, parts, sizes):
    spans = even(count, parts)
    assert [last - first for first, last in spans] == sizes
    assert [place for first, last in spans for place in range(first, last)] == list(range(count))


@pytest.mark.parametrize("name", ["tiny@2x1", "tiny@2x2", "tall@3x1", "sim16@2x2"])
@pytest.mark.parametrize("sizes", [{}, {"heads": 6, "kv_heads": 2}, {"heads": 3, "kv_heads": 3}])
def test_shares_cover_a_decoder_once(name, sizes):
    model, config = quantized(random_decoder(**sizes)), get_config(name)
    shares = shares_of(model, config)
    assert len(shares) == config.cores
    for spans, columns in ((lambda s: s.heads, model.heads), (lambda s: s.down, model.width),
                           (lambda s: s.hidden, model.hidden),
                           (lambda s: s.vocabulary, model.vocabulary)):
        owned = [place for share in shares for place in range(*spans(share))]
        assert sorted(owned) == list(range(columns))
        largest = spans(shares[0])
        assert all(last - first <= largest[1] - largest[0] for first, last in map(spans, shares))
    group = model.heads // model.kv_heads
    for share in shares:
        used = {head // group for head in range(*share.heads)}
        assert used == set(range(*share.kv_heads))
        assert not used or (share.heads[1] - share.heads[0]) % len(used) == 0


def test_a_share_has_whole_contractions():
    model = quantized(random_decoder())
    share = shares_of(model, get_config("tiny@2x2"))[1]
    part, whole = share.of(model).layers[0], model.layers[0]
    np.testing.assert_array_equal(part.down.weight, whole.down.weight[:, slice(*share.down)])
    np.testing.assert_array_equal(part.out.weight, whole.out.weight[:, slice(*share.output)])
    np.testing.assert_array_equal(part.gate.words, whole.gate.words[slice(*share.hidden)])
    assert whole_share(model).of(model) is model


def test_too_many_cores():
    with pytest.raises(CompileError, match="16 cores, but one decoder runs on at most 11"):
        shares_of(quantized(random_decoder()), get_config("tiny@4x4"))
