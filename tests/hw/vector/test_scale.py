"""Scale words and the scale against NumPy."""
import cocotb
import numpy as np
import pytest

from systolith.hw.vector.scale import SCALE_LATENCY, Scale
from systolith.hw.vector.scale_word import SCALE_WORD_LATENCY, ScaleWords
from systolith.sw.reference import numerics
from tests.bench import parameters, simulate
from tests.hw.vector.lanes import (
    CORNERS_32,
    numbers,
    pack_lanes,
    stream_through,
    unpack_lanes,
)

MULTIPLIERS = (0, 1, 2, 3, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF)


def corner_products() -> tuple[np.ndarray, np.ndarray]:
    """All corner values with all corner multipliers and all shifts."""
    x, multiplier, shift = np.meshgrid(CORNERS_32, MULTIPLIERS, np.arange(64), indexing="ij")
    return x.ravel(), numerics.scale_word(multiplier, shift).ravel()


def ties(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Products that lie halfway between two integers."""
    shift = rng.integers(1, 31, count)
    odd = 2 * rng.integers(-(1 << 14), 1 << 14, count) + 1
    upper = np.minimum(shift - 1, 15)
    x = odd << np.minimum(shift - 1 - upper, 16)
    return x, numerics.scale_word(1 << upper, np.where(shift - 1 - upper > 16, upper + 17, shift))


@cocotb.test(skip=parameters().get("block") != "scale")
async def scales(dut):
    lanes = parameters()["lanes"]
    rng = np.random.default_rng(1)
    parts = [corner_products(), ties(rng, 4096),
             (numbers(rng, 32, 8192), rng.integers(1 << 22, size=8192))]
    x, words = (np.concatenate(part) for part in zip(*parts, strict=True))
    x, words = (values[:len(values) // lanes * lanes].reshape(-1, lanes) for values in (x, words))
    got = await stream_through(dut, {"x": [pack_lanes(beat, 32) for beat in x],
                                     "word": [pack_lanes(beat, 22) for beat in words]},
                               "y", SCALE_LATENCY)
    got = np.stack([unpack_lanes(word, 32, lanes) for word in got])
    wrong = np.argwhere(got != numerics.scale(x, words))
    assert not wrong.size, f"first wrong: {x[tuple(wrong[0])]} by {words[tuple(wrong[0])]:#x}"


@cocotb.test(skip=parameters().get("block") != "words")
async def combines(dut):
    lanes, count = parameters()["lanes"], 4096
    rng = np.random.default_rng(2)
    corners = numerics.scale_word(*np.meshgrid(MULTIPLIERS, (0, 1, 8, 15, 16, 17, 40, 62, 63)))
    first = rng.choice(corners.ravel(), (count, lanes))
    first[::2] = rng.integers(1 << 22, size=(count // 2, lanes))
    second = np.where(rng.random(count) < 0.5, rng.choice(corners.ravel(), count),
                      rng.integers(1 << 22, size=count))
    both = rng.integers(2, size=count)
    got = await stream_through(dut, {"first": [pack_lanes(beat, 22) for beat in first],
                                     "second": second, "both": both}, "word", SCALE_WORD_LATENCY)
    got = np.stack([unpack_lanes(word, 22, lanes, signed=False) for word in got])
    want = np.where(both[:, None], numerics.combine_scales(first, second[:, None]), first)
    assert np.array_equal(got, want)


@pytest.mark.parametrize("lanes", [2])
def test_scale(lanes):
    simulate(Scale(lanes=lanes), "scale", __name__, parameters={"block": "scale", "lanes": lanes})


@pytest.mark.parametrize("lanes", [2])
def test_scale_words(lanes):
    simulate(ScaleWords(lanes=lanes), "scale_words", __name__,
             parameters={"block": "words", "lanes": lanes})


def test_ties_are_ties():
    x, words = ties(np.random.default_rng(3), 1000)
    multiplier, shift = numerics.split_scale(words)
    assert np.all(x * multiplier % (1 << shift) == 1 << shift - 1)
