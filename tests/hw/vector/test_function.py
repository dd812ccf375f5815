# amaranth: UnusedElaboratable=no
"""Function tables over every INT16 input and beyond."""
import cocotb
import numpy as np
import pytest

from systolith.hw.isa import Function
from systolith.hw.vector.function import FUNCTION_LATENCY, FunctionTables
from systolith.sw.reference import numerics
from tests.bench import simulate
from tests.hw.vector.lanes import CORNERS_32, numbers, pack_lanes, stream_through, unpack_lanes

LANES = 4
EVERY = np.arange(-(1 << 15), 1 << 15)


def tables(rng: np.random.Generator) -> np.ndarray:
    """A table of extremes (saturation on both sides) and the one of EXP2, shape (2, 64, 2)."""
    extreme = rng.choice([-32768, -32767, -1, 0, 1, 511, 512, 513, 32767], (64, 2))
    extreme[:32] = rng.integers(-(1 << 15), 1 << 15, (32, 2))
    return np.stack([extreme, numerics.exp2_table()])


def function(x, mode: int, table: np.ndarray) -> np.ndarray:
    if mode == Function.LINEAR:
        return numerics.table_linear(x, table)
    return numerics.table_exp2(x, table) if mode == Function.EXP2 else x


def loads(contents: np.ndarray) -> dict[str, list[int]]:
    """Beats that fill both tables."""
    pairs = contents.reshape(-1, 2)
    return {"load": [1] * len(pairs), "entry": list(range(64)) * 2, "table": [0] * 64 + [1] * 64,
            "pair": [pack_lanes(pair, 16) for pair in pairs]}


async def apply(dut, x: np.ndarray, mode, table, contents) -> tuple[np.ndarray, np.ndarray]:
    """(y, own) of beats that directly follow the loading of the tables; ``narrow`` is y's."""
    filling = loads(contents)
    idle, beats = len(filling["load"]), len(x)
    inputs = {
        "load": filling["load"] + [0] * beats, "entry": filling["entry"] + [0] * beats,
        "pair": filling["pair"] + [0] * beats, "table": filling["table"] + list(table),
        "mode": [0] * idle + list(mode), "x": [0] * idle + [pack_lanes(beat, 32) for beat in x],
    }
    results = (await stream_through(dut, inputs, "y own narrow", FUNCTION_LATENCY))[idle:]
    y, own, narrow = (np.stack([unpack_lanes(word, bits, LANES) for word in words])
                      for words, bits in zip(zip(*results, strict=True), (32, 16, 16), strict=True))
    assert np.array_equal(narrow, numerics.saturate(y, 16))
    return y, own


@cocotb.test()
@cocotb.parametrize(mode=[1, 2], table=[0, 1])
async def every_input(dut, mode, table):
    rng = np.random.default_rng(1)
    contents = tables(rng)
    x = np.concatenate([EVERY, np.repeat(CORNERS_32, LANES)]).reshape(-1, LANES)
    got, own = await apply(dut, x, [mode] * len(x), [table] * len(x), contents)
    want = function(x, mode, contents[table])
    wrong = np.argwhere(got != want)
    assert not wrong.size, f"{len(wrong)} wrong, the first at {x[tuple(wrong[0])]}"
    assert np.array_equal(own, numerics.saturate(x, 16))


@cocotb.test()
async def modes_change_every_beat(dut):
    rng = np.random.default_rng(2)
    contents = tables(rng)
    x = numbers(rng, 32, (2000, LANES))
    mode, table = rng.integers(3, size=len(x)), rng.integers(2, size=len(x))
    got, _ = await apply(dut, x, mode, table, contents)
    want = np.stack([function(beat, kind, contents[slot])
                     for beat, kind, slot in zip(x, mode, table, strict=True)])
    assert np.array_equal(got, want)


def test_function():
    simulate(FunctionTables(lanes=LANES, tables=2), "function", __name__)


def test_rejects_tables():
    with pytest.raises(ValueError, match=r"^tables must be 1 or 2, not 3$"):
        FunctionTables(lanes=2, tables=3)
