"""What each core has of an encoder: together all of it, and nothing twice but what is meant to."""
from itertools import chain

import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.sw.encoder.mesh.share import shares_of
from tests.sw.encoders import quantized, random_encoder


@pytest.fixture(scope="module")
def model():
    return quantized(random_encoder(width=16, heads=4, hidden=64, layers=1))


def covered(spans):
    return [*chain.from_iterable(range(*span) for span in spans)]


@pytest.mark.parametrize(("name", "columns"), [("tiny@2x1", 2), ("tiny@2x2", 4), ("tiny@4x1", 4),
                                               ("tiny@4x2", 4), ("tiny@2x3", 2), ("tiny@4x4", 4)])
def test_rows_share_heads_and_columns_share_the_text(model, name, columns):
    config, length = get_config(name), 37
    shares = shares_of(model, config, length)
    for start in range(0, config.cores, columns):
        row = shares[start:start + columns]
        assert len({each.positions for each in row}) == 1
        assert len({each.row for each in row}) == 1
        assert covered(each.heads for each in row) == [*range(4)]
        assert covered(each.columns for each in row) == [*range(16)]
        assert covered(each.groups for each in row) == [*range(4)]
        assert covered(each.embedded((8, 15)) for each in row) == [*range(8, 15)]
    assert covered(each.positions for each in shares[::columns]) == [*range(length)]
    assert {each.column.cores for each in shares} == {config.cores // columns}


def test_the_first_has_the_most(model):
    shares = shares_of(quantized(random_encoder()), get_config("tiny@2x2"), 37)
    for part in ("positions", "heads", "columns", "groups"):
        sizes = [np.diff(getattr(each, part))[0] for each in shares]
        assert sizes[0] == max(sizes)
    assert [each.leads for each in shares] == [True, False, False, False]


def test_slices_of_a_layer_put_together_are_the_layer(model):
    layer = model.layers[0]
    parts = [share.of(layer) for share in shares_of(model, get_config("tiny@2x2"), 8)]
    for name in ("q", "k", "v", "out"):
        weights = [getattr(part, name).weight for part in parts]
        assert np.array_equal(np.concatenate(weights, axis=1), getattr(layer, name).weight)
    assert np.array_equal(np.concatenate([part.q.bias for part in parts]), layer.q.bias)
    assert np.array_equal(np.concatenate([part.mix_words for part in parts]), layer.mix_words)
    for group in range(4):
        down = np.concatenate([part.groups[group].down.weight for part in parts], axis=1)
        assert np.array_equal(down, layer.groups[group].down.weight)
        assert all(part.groups[group].up is layer.groups[group].up for part in parts)
