# amaranth: UnusedElaboratable=no
"""The link at bit level against cuts, flips, lost and doubled bytes, and a host off its rate."""
import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from systolith.hw.frames import Operation, Status
from tests.bench import simulate
from tests.hw.link.host import BIT, LONG, link, started


@cocotb.test(timeout_time=400, timeout_unit="ms")
async def a_frame_cut_at_any_byte_does_nothing(dut):
    bench = await started(dut)
    lost = bench.frame(Operation.WRITE, data=b"\x7e}no", address=4).encode()
    for length in range(1, len(lost) - 1):
        bench.sequence -= 1
        # The next frame, with the same number, comes at once: its first flag ends the cut one.
        whole = bench.frame(Operation.WRITE, data=b"\x7e}ab", address=4).encode()
        answer = await bench.ask(lost[:length] + whole)
        assert answer.status is Status.OK, length
    assert bench.writes == [(0, 4, int.from_bytes(b"\x7e}ab", "little"))]
    await bench.check_usable()


@cocotb.test(timeout_time=400, timeout_unit="ms")
async def damage_of_every_kind_does_nothing(dut):
    bench = await started(dut)
    whole = bench.frame(Operation.WRITE, data=b"\x7e}ab", address=4).encode()
    generator = random.Random(3)
    damaged = [bytearray(whole) for _ in range(8 * len(whole))]
    for index, frame in enumerate(damaged):
        frame[index // 8] ^= 1 << index % 8
    damaged = [bytes(frame) for frame in damaged if 0 < damaged.index(frame)]
    damaged += [whole[:i] + whole[i + 1:] for i in range(1, len(whole) - 1)]
    damaged += [whole[:i] + whole[i:i + 1] + whole[i:] for i in range(1, len(whole) - 1)]
    damaged += [generator.randbytes(40) for _ in range(5)]
    # A flipped first or last flag leaves a frame that a neighbour's flag can complete.
    damaged = [frame for frame in damaged if frame.strip(b"~") != whole.strip(b"~")]
    await bench.send(b"~" + b"".join(damaged) + b"~")
    await ClockCycles(dut.clk, LONG)
    assert bench.writes == []
    assert bench.answers == []
    assert (await bench.ask(whole)).status is Status.OK
    await bench.check_usable()


@cocotb.test(timeout_time=400, timeout_unit="ms")
@cocotb.parametrize(off=[-0.02, 0.02])
async def a_host_two_percent_off_is_understood(dut, off):
    bench = await started(dut)
    data = random.Random(4).randbytes(256)
    frame = bench.frame(Operation.WRITE, address=0x100, data=data)
    assert (await bench.ask(frame, bit=BIT / (1 + off))).status is Status.OK
    assert await bench.read(0x100, 64) == data


@pytest.mark.slow
def test_hostile():
    simulate(link(), "link", __name__)
