"""Drive fixed-latency blocks in cocotb: one beat a cycle in, one result a cycle out."""
import numpy as np
from cocotb.triggers import RisingEdge

from tests.bench import reset

#: Values at which INT32 arithmetic saturates, wraps, ties or changes sign.
CORNERS_32 = (-(1 << 31), -(1 << 31) + 1, -65537, -65536, -32769, -32768, -32767, -8192, -192, -129,
              -128, -127, -64, -1, 0, 1, 63, 64, 65, 127, 128, 192, 255, 256, 8191, 8192, 24576,
              32767, 32768, 65535, 65536, (1 << 30), (1 << 31) - 2, (1 << 31) - 1)
CORNERS_16 = tuple(value for value in CORNERS_32 if -(1 << 15) <= value < 1 << 15)


def pack_lanes(values, bits: int) -> int:
    """Bits of an array's elements, the first lowest."""
    mask = (1 << bits) - 1
    return sum((int(value) & mask) << bits * place
               for place, value in enumerate(np.asarray(values).reshape(-1)))


def unpack_lanes(word: int, bits: int, count: int, *, signed: bool = True) -> np.ndarray:
    """The inverse of :func:`pack_lanes`."""
    values = np.array([word >> bits * place & (1 << bits) - 1 for place in range(count)],
                      dtype=np.int64)
    return values - ((values >> bits - 1) << bits) if signed else values


def numbers(rng: np.random.Generator, bits: int, shape) -> np.ndarray:
    """Signed numbers: a third corner values, the rest of random magnitude."""
    corners = CORNERS_32 if bits == 32 else CORNERS_16
    wide = rng.integers(-(1 << bits - 1), 1 << bits - 1, shape) >> rng.integers(0, bits, shape)
    return np.where(rng.random(shape) < 1 / 3, rng.choice(corners, shape), wide)


async def stream_through(dut, inputs: dict, output: str, latency: int) -> list[int]:
    """Feed one beat a cycle and collect ``output``, ``latency`` cycles later.

    ``inputs`` maps port names to lists of integers of equal length. ``output`` may name several
    ports, separated by blanks; then a result is a tuple.
    """
    outputs = output.split()
    for name in inputs:
        dut[name].value = 0
    await reset(dut)
    beats = len(next(iter(inputs.values())))
    results = []
    for cycle in range(beats + latency):
        for name, values in inputs.items():
            dut[name].value = int(values[min(cycle, beats - 1)])
        await RisingEdge(dut.clk)
        if cycle >= latency:
            results.append(tuple(int(dut[name].value) for name in outputs))
    return results if len(outputs) > 1 else [result for result, in results]
