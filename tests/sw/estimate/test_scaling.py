"""A decoder over many chips: counts by hand, and what moves with what."""
import dataclasses

import pytest

from systolith.hw.configs import get_config
from systolith.sw.estimate.scaling import LINKS, LLAMA_1B, Link, Spread

MEGABYTE = 1 << 20


def spread(config="deep16@4x4", link="ethernet-1G", length=512, mhz=100.0):
    return Spread(LLAMA_1B, get_config(config), LINKS[link], length, mhz)


def test_weights_of_the_model():
    """1.236 billion with the tied table once."""
    assert LLAMA_1B.layer_weights == 2048 * (2 * 2048 + 2 * 512 + 3 * 8192) == 60817408
    assert LLAMA_1B.head_weights == 128256 * 2048
    assert round((16 * LLAMA_1B.layer_weights + LLAMA_1B.head_weights) / 1e9, 3) == 1.236


def test_chips_by_hand():
    """A layer and its cache are 58.5 MiB, the logits 250.5 MiB."""
    one = spread()
    assert one.layer_bytes == LLAMA_1B.layer_weights + 2 * 512 * 512
    assert (one.chip_bytes, one.split, one.layers) == (64 * MEGABYTE, 1, 1)
    assert (one.stages, one.head_chips, one.chips) == (16, 4, 20)
    large, small = spread("deep16@8x8"), spread("mesh4")
    assert (large.layers, large.stages, large.head_chips, large.chips) == (4, 4, 1, 5)
    assert (small.split, small.layers, small.chips) == (15, 1, 16 * 15 + 63)


def test_a_longer_cache_needs_more():
    assert spread(length=8192).layer_bytes - spread(length=512).layer_bytes == 2 * 512 * 7680
    assert spread(length=8192).chips > spread(length=512).chips


def test_messages():
    link = Link(name="x", bytes_per_second=1e6, seconds=1e-3, frame=24)
    assert link.message(976) == pytest.approx(2e-3)


def test_the_slower_link_bounds():
    slow, fast = spread(link="uart-3M"), spread(link="ethernet-10G")
    assert (slow.bound, fast.bound) == ("link", "array")
    # 20 messages: 16 of the residual in 13.7 ms each, the token in 0.09 ms.
    assert 1 / slow.tokens_per_second - 1 / fast.tokens_per_second == pytest.approx(
        16 * 4114 / 3e5 + 26 / 3e5, rel=0.01)
    assert fast.tokens_per_second > slow.tokens_per_second


def test_many_texts_are_limited_by_the_slowest_group():
    one = spread(link="ethernet-10G")
    assert one.tokens_per_second < one.most_tokens_per_second < (
        (one.stages + 1) * one.tokens_per_second)
    faster = dataclasses.replace(one, mhz=200.0)
    assert faster.most_tokens_per_second == pytest.approx(2 * one.most_tokens_per_second)
