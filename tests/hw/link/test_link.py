# amaranth: UnusedElaboratable=no
"""The whole link at bit level: operations, numbers, sessions, and a chip that does not react."""
import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from systolith.hw.frames import (
    DEAD_CYCLES,
    ESCAPE,
    FLAG,
    MAX_WORDS,
    PROTOCOL,
    Operation,
    Space,
    Status,
)
from systolith.hw.link.link import Link
from tests.bench import simulate
from tests.hw.link.host import LONG, SESSION, link, started


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def hello_tells_what_the_device_is(dut):
    bench = await started(dut)
    answer = await bench.hello(0xFFFFFFFF)
    assert (answer.session, answer.next) == (0xFFFFFFFF, 2)
    assert answer.data == bytes([PROTOCOL, MAX_WORDS, 16, 3])


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def words_go_where_they_belong(dut):
    bench = await started(dut)
    data = random.Random(2).randbytes(4 * MAX_WORDS)
    await bench.write(0x2000, data)
    assert sorted(bench.words) == [(0, 0x2000 + 4 * i) for i in range(MAX_WORDS)]
    assert await bench.read(0x2000, MAX_WORDS) == data
    await bench.write(0x2000, data[:16], space=Space.EXTERNAL)
    assert await bench.read(0x2000, 4, space=Space.EXTERNAL) == data[:16]
    del bench.writes[:]
    await bench.write(0x30, data[:12], space=Space.FIXED)
    assert [(external, address) for external, address, _ in bench.writes] == [(0, 0x30)] * 3
    special = bytes([FLAG, ESCAPE, FLAG ^ 0x20, ESCAPE ^ 0x20]) * MAX_WORDS
    answer = await bench.ask(bench.frame(Operation.ECHO, data=special))
    assert answer.data == special


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def a_repeated_request_is_answered_again_and_done_once(dut):
    bench = await started(dut)
    frame = bench.frame(Operation.WRITE, address=8, data=b"once")
    for _ in range(3):
        answer = await bench.ask(frame)
        assert (answer.status, answer.sequence) == (Status.OK, frame.sequence)
    assert len(bench.writes) == 1
    reading = bench.frame(Operation.READ, address=8, words=1)
    assert [(await bench.ask(reading)).data for _ in range(2)] == [b"once"] * 2
    resetting = bench.frame(Operation.RESET)
    for _ in range(2):
        assert (await bench.ask(resetting)).status is Status.OK
    assert bench.resets == 1


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def requests_out_of_order_or_session_do_nothing(dut):
    bench = await started(dut)
    for sequence in (bench.sequence + 1, bench.sequence - 2, bench.sequence + 128):
        answer = await bench.ask(
            bench.frame(Operation.WRITE, sequence=sequence % 256, data=b"nope"))
        assert (answer.status, answer.next) == (Status.SEQUENCE, bench.sequence)
    answer = await bench.ask(bench.frame(Operation.WRITE, data=b"nope", session=SESSION ^ 1))
    assert (answer.status, answer.session) == (Status.SESSION, SESSION)
    bench.sequence -= 1
    assert bench.writes == []
    await bench.check_usable()


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def malformed_requests_are_refused(dut):
    bench = await started(dut)
    frames = [
        bench.frame(9, words=0), bench.frame(0, words=0),
        bench.frame(Operation.WRITE), bench.frame(Operation.WRITE, data=b"12345678", words=1),
        bench.frame(Operation.WRITE, data=b"1234", words=2), bench.frame(Operation.READ),
        bench.frame(Operation.READ, words=MAX_WORDS + 1), bench.frame(Operation.READ, words=255),
        bench.frame(Operation.READ, words=1, address=2),
        bench.frame(Operation.READ, words=1, space=4),
        bench.frame(Operation.READ, words=1, space=0x81),
        # External memory has beats of two words.
        bench.frame(Operation.READ, words=1, space=Space.EXTERNAL),
        bench.frame(Operation.READ, words=2, address=4, space=Space.EXTERNAL),
        bench.frame(Operation.WRITE, data=b"12345678", space=Space.EXTERNAL | Space.FIXED),
        bench.frame(Operation.HELLO, data=b"1234"), bench.frame(Operation.RESET, data=b"1234"),
    ]
    bench.sequence = 1
    for frame in frames:
        answer = await bench.ask(frame)
        assert (answer.status, answer.next) == (Status.REQUEST, 1), frame
    assert (bench.writes, bench.resets) == ([], 0)
    await bench.check_usable()


@cocotb.test(timeout_time=400, timeout_unit="ms")
async def writes_may_follow_each_other_without_waiting(dut):
    bench = await started(dut)
    blocks = [random.Random(i).randbytes(4 * MAX_WORDS) for i in range(4)]
    frames = [bench.frame(Operation.WRITE, address=0x1000 * i, data=block)
              for i, block in enumerate(blocks)]
    await bench.send(b"".join(frame.encode() for frame in frames))
    await ClockCycles(dut.clk, LONG)
    assert [answer.status for answer in bench.answers] == [Status.OK] * 4
    for i, block in enumerate(blocks):
        assert await bench.read(0x1000 * i, MAX_WORDS) == block


@cocotb.test(timeout_time=400, timeout_unit="ms")
@cocotb.parametrize(operation=[Operation.WRITE, Operation.READ])
async def a_dead_port_is_told_and_a_reset_helps(dut, operation):
    bench = await started(dut)
    await bench.write(0, b"1234")
    bench.stalled = True
    await bench.write(0, b"5678")  # the one that the port still takes
    frame = bench.frame(operation, words=1, data=b"9abc" if operation == Operation.WRITE else b"")
    answer = await bench.ask(frame, cycles=2 * DEAD_CYCLES)
    if operation == Operation.READ:
        assert answer is None  # the frame was spoiled on purpose
        answer = await bench.ask(frame)
    assert answer.status is Status.DEAD
    assert dut.dead.value
    assert (await bench.ask(bench.frame(Operation.ECHO, data=b"echo"))).data == b"echo"
    bench.stalled = False
    assert (await bench.ask(bench.frame(Operation.RESET))).status is Status.OK
    assert not dut.dead.value
    await bench.check_usable()


def test_link():
    simulate(link(), "link", __name__)


def test_a_clock_without_the_rate_is_refused():
    with pytest.raises(ValueError, match=r"but 4 are needed: ask for at most 3e\+06 baud$"):
        Link(clock_hz=12e6, baud=4e6, ext_bytes=0, bus_bytes=4)
