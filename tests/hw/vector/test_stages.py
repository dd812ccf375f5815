# amaranth: UnusedElaboratable=no
"""The stages without state: addend, combination, saturation, scalar unit, validity."""
import cocotb
import numpy as np
import pytest

from systolith.hw import isa
from systolith.hw.vector.addend import ADDEND_LATENCY, Addend
from systolith.hw.vector.combine import COMBINE_LATENCY, Combine
from systolith.hw.vector.saturate import SATURATE_LATENCY, Saturate
from systolith.hw.vector.scalar import ScalarUnit
from systolith.hw.vector.validity import VALIDITY_LATENCY, Validity
from systolith.sw.reference import numerics
from tests.bench import parameters, simulate
from tests.hw.vector.lanes import (
    CORNERS_16,
    CORNERS_32,
    numbers,
    pack_lanes,
    stream_through,
    unpack_lanes,
)

LANES = 4
BEATS = 3000
BLOCKS = {"addend": Addend, "combine": Combine, "saturate": Saturate, "validity": Validity}


def only_for(block: str):
    """A cocotb test that only runs on this block."""
    return cocotb.test(skip=parameters().get("block") != block)


def corner_pairs(first, second) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of corner values, as beats."""
    sides = [side.ravel() for side in np.meshgrid(first, second)]
    beats = -(-sides[0].size // LANES)
    first, second = (np.resize(side, (beats, LANES)) for side in sides)
    return first, second


def packed(beats: np.ndarray, bits: int) -> list[int]:
    return [pack_lanes(beat, bits) for beat in beats]


def unpacked(words: list[int], bits: int) -> np.ndarray:
    return np.stack([unpack_lanes(word, bits, LANES) for word in words])


@only_for("addend")
async def adds(dut):
    rng = np.random.default_rng(1)
    x, column = (np.concatenate(part) for part in zip(
        corner_pairs(CORNERS_32, CORNERS_32), numbers(rng, 32, (2, BEATS, LANES)), strict=True))
    mode, row = rng.integers(3, size=len(x)), numbers(rng, 32, len(x))
    got = await stream_through(dut, {
        "x": packed(x, 32), "column": packed(column, 32), "mode": mode, "row": row},
        "y", ADDEND_LATENCY)
    terms = np.stack([np.zeros_like(x), column, -np.repeat(row[:, None], LANES, axis=1)])
    want = numerics.saturate(x + terms[mode, np.arange(len(x))], 32)
    assert np.array_equal(unpacked(got, 32), want)


@only_for("combine")
@cocotb.parametrize(mode=list(range(6)))
async def combines(dut, mode):
    rng = np.random.default_rng(2)
    x, stream = corner_pairs(CORNERS_32, CORNERS_16)
    x = np.concatenate([x, numbers(rng, 32, (BEATS, LANES)), np.full((1, LANES), -32768)])
    stream = np.concatenate([stream, numbers(rng, 16, (BEATS, LANES)), np.full((1, LANES), -32768)])
    own = numerics.saturate(numbers(rng, 32, x.shape), 16)
    got = await stream_through(dut, {
        "x": packed(x, 32), "narrow": packed(numerics.saturate(x, 16), 16),
        "own": packed(own, 16), "stream": packed(stream, 16),
        "mode": [mode] * len(x)}, "y", COMBINE_LATENCY)
    want = {isa.Combine.NONE: lambda: x,
            isa.Combine.ADD: lambda: numerics.saturate(x + stream, 32),
            isa.Combine.MULTIPLY: lambda: numerics.multiply(x, stream),
            isa.Combine.SELF: lambda: numerics.multiply(x, own),
            isa.Combine.SQUARE: lambda: numerics.square(x),
            isa.Combine.ROTATE: lambda: numerics.rotate(x, stream)}[isa.Combine(mode)]()
    assert np.array_equal(unpacked(got, 32), want)


@only_for("saturate")
async def narrows_and_saturates(dut):
    rng = np.random.default_rng(3)
    # Around every tie of the shift by 7, and around the ends of all ranges.
    near = np.concatenate([np.arange(-700, 700), *(np.arange(end - 70, end + 70) for end in (
        -128 << 7, 127 << 7, 255 << 7, -32768, 32767, -32768 << 7, 32767 << 7))])
    x = np.resize(np.concatenate([near, CORNERS_32]), (BEATS, LANES))
    x[::3] = numbers(rng, 32, x[::3].shape)
    narrow, output = rng.integers(2, size=BEATS), rng.integers(3, size=BEATS)
    count = rng.integers(LANES + 1, size=BEATS)
    got = await stream_through(dut, {"x": packed(x, 32), "narrow": narrow, "output": output,
                                     "count": count}, "y", SATURATE_LATENCY)
    shifted = np.where(narrow[:, None], numerics.rounding_shift(x, numerics.NARROW_SHIFT), x)
    ends = np.array([numerics.RANGES[kind] for kind in isa.Output])[output]
    want = np.clip(shifted, ends[:, :1], ends[:, 1:])
    want[np.arange(LANES) >= count[:, None]] = 0
    assert np.array_equal(unpacked(got, 16), want)


@only_for("scalar")
@cocotb.parametrize(kind=list(range(5)))
async def stores(dut, kind):
    rng = np.random.default_rng(4)
    powers = (1 << np.arange(47))[:, None] + np.arange(-2, 3)
    mantissas = np.arange(1 << 15, 1 << 16)
    # Ties and ends of the mean, ends of INT32 and of the 48 bits.
    ends = [sign * ((value << 15) + half + near) for sign in (1, -1) for value in (0, 1, 2, 1 << 31)
            for half in (0, 1 << 14) for near in (-1, 0, 1)]
    x = np.concatenate([powers.ravel(), mantissas, mantissas[::7] << 15, mantissas[::7] << 31,
                        CORNERS_32, ends, numbers(rng, 32, BEATS) << 15,
                        [-(1 << 47), (1 << 47) - 1]])
    got = await stream_through(dut, {"x": x & (1 << 48) - 1, "kind": [kind] * len(x)}, "y",
                               parameters()["latency"])
    want = {isa.Scalar.NONE: lambda r: numerics.saturate(r, 32),
            isa.Scalar.RECIPROCAL: numerics.reciprocal,
            isa.Scalar.INVERSE_ROOT: numerics.inverse_root,
            isa.Scalar.SCALE: numerics.number_scale,
            isa.Scalar.MEAN: numerics.mean}[isa.Scalar(kind)](x) & 0xFFFFFFFF
    wrong = np.flatnonzero(np.array(got) != want)
    assert not wrong.size, f"{len(wrong)} wrong, the first at {x[wrong[0]]}"


@only_for("validity")
async def masks(dut):
    rng = np.random.default_rng(5)
    beat = rng.integers(40, size=BEATS)
    valid = np.maximum(beat * LANES + rng.integers(-9, 10, BEATS), 0)
    horizon = np.maximum(beat * LANES + rng.integers(-9, 10, BEATS), 0)
    # The longest rows and the farthest positions there are.
    beat[:4], valid[:4], horizon[:4] = (65534, 16383, 16383, 0), 65535, (131071, 131071, 65535, 1)
    causal = rng.integers(2, size=BEATS)
    got = await stream_through(dut, {"beat": beat, "valid": valid, "horizon": horizon,
                                     "causal": causal}, "count", VALIDITY_LATENCY)
    limit = np.where(causal, np.minimum(valid, horizon), valid)
    assert got == np.clip(limit - beat * LANES, 0, LANES).tolist()


@pytest.mark.parametrize("block", BLOCKS)
def test_block(block):
    simulate(BLOCKS[block](lanes=LANES), block, __name__, parameters={"block": block})


@pytest.mark.parametrize("latency", [6, 10])
def test_scalar_unit(latency):
    simulate(ScalarUnit(latency=latency), f"scalar_{latency}", __name__,
             parameters={"block": "scalar", "latency": latency})


def test_rejects_odd_lanes():
    with pytest.raises(ValueError, match=r"^lanes must be even and at least 2, not 3$"):
        Combine(lanes=3)
