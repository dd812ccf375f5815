# amaranth: UnusedElaboratable=no
"""The array against NumPy: another row and another tile in every cycle."""
import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.array import SystolicArray
from systolith.hw.config import Config
from systolith.sw.reference import numerics
from tests.bench import parameters, reset, simulate


def make_config(*, rows, cols, **sizes):
    return Config(name="test", rows=rows, cols=cols, lanes=min(rows, cols), **sizes)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def multiplies(dut):
    """Random beats, among them whole rows and tiles of the extremes; tiles kept and changed."""
    config = make_config(**parameters())
    rows, cols, beats = config.rows, config.cols, 300
    latency = SystolicArray(config=config).latency
    numbers = np.random.default_rng(cocotb.RANDOM_SEED)
    left = numbers.integers(-128, 128, (beats, rows), dtype=np.int8)
    tiles = numbers.integers(-128, 128, (beats, rows, cols), dtype=np.int8)
    unsigned, load = numbers.integers(0, 2, (2, beats))
    load[0] = 1
    # -128 * -128, 255 * -128, 255 * 127 and 127 * -128 in all cells.
    corners = ((-128, -128, 0), (-1, -128, 1), (-1, 127, 1), (127, -128, 0), (-128, -128, 1))
    for beat, (operand, weight, kind) in enumerate(corners, start=40):
        left[beat], tiles[beat], unsigned[beat], load[beat] = operand, weight, kind, 1
    for name in ("activations", "left_unsigned", "load"):
        dut[name].value = 0
    await reset(dut)
    held, expected = tiles[0], []
    for cycle in range(beats + latency):
        if cycle < beats:
            held = tiles[cycle] if load[cycle] else held
            operand = left[cycle].view(np.uint8) if unsigned[cycle] else left[cycle]
            expected.append(numerics.matmul(operand, held))
            dut.activations.value = int.from_bytes(left[cycle].tobytes(), "little")
            dut.left_unsigned.value = int(unsigned[cycle])
            dut.load.value = int(load[cycle])
        for row in range(rows):
            late = min(max(cycle - row, 0), beats - 1)
            dut[f"weights__{row}"].value = int.from_bytes(tiles[late, row].tobytes(), "little")
        await RisingEdge(dut.clk)
        if cycle >= latency:
            got = [dut[f"sums__{column}"].value.to_signed() for column in range(cols)]
            assert got == expected[cycle - latency].tolist(), f"beat {cycle - latency}"


@pytest.mark.parametrize(("rows", "cols", "hop", "multiply_cycles", "lut_columns"), [
    (4, 4, 0, 1, 0), (4, 4, 1, 1, 0), (8, 4, 2, 1, 0), (4, 8, 4, 1, 0), (4, 8, 2, 2, 4),
    (8, 4, 0, 2, 3)])
def test_array(rows, cols, hop, multiply_cycles, lut_columns):
    sizes = {"rows": rows, "cols": cols, "hop": hop, "multiply_cycles": multiply_cycles,
             "lut_columns": lut_columns}
    array = SystolicArray(config=make_config(**sizes))
    assert array.groups == (cols // hop if hop else 1)
    assert array.latency == rows + 1 + multiply_cycles + array.groups - 1
    simulate(array, "array_" + "_".join(map(str, sizes.values())), __name__, parameters=sizes)


def test_rejects_what_is_no_config():
    with pytest.raises(TypeError, match=r"^config must be a Config, not None$"):
        SystolicArray(config=None)
