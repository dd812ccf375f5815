"""The far end of a serial line in cocotb, bit by bit."""
from cocotb.triggers import RisingEdge, Timer

#: Clock period of :func:`tests.streams.reset`, in picoseconds.
PERIOD = 10_000
#: From a clock edge: a line that changes with the clock would race with it.
APART = PERIOD // 4
#: Start bit, eight data bits, stop bit.
FRAME_BITS = 10


def levels(byte, stop=1):
    """The ten levels of a byte."""
    return [0, *(byte >> bit & 1 for bit in range(8)), stop]


async def send_bytes(line, data, *, bit, stop=1):
    """Put bytes onto a line without gaps; ``bit`` in cycles, not necessarily whole."""
    await Timer(APART, "ps")
    start, bits = 0.0, 0
    for byte in data:
        for level in levels(byte, stop):
            line.value = level
            bits += 1
            # From the start of all, so that rounding does not add up.
            duration = round(bits * bit * PERIOD) - start
            start += duration
            await Timer(int(duration), "ps")
    line.value = 1


async def receive_bytes(dut, line, *, bit):
    """Yield bytes of a line for ever; ones without a stop bit raise."""
    while True:
        await RisingEdge(dut.clk)
        if line.value:
            continue
        await Timer(APART, "ps")
        bits = []
        for index in range(FRAME_BITS):
            await Timer(round(bit * PERIOD * (1 if index else 0.5)), "ps")
            bits.append(int(line.value))
        assert (bits[0], bits[-1]) == (0, 1), bits
        yield sum(level << index for index, level in enumerate(bits[1:9]))
