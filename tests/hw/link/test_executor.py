"""A port that moves in the very cycle in which its time is over: it is dead, or its word counts."""
import cocotb
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

from systolith.hw.frames import DEAD_CYCLES, REQUEST_HEADER, Operation
from systolith.hw.link.executor import Executor
from systolith.hw.link.frame_sender import AnswerWord
from tests.bench import reset, simulate, unpack

WORD = 0x12345678
#: A READ of one word with the numbers that are expected after a reset: header, session, address.
FRAME = (Operation.READ | 1 << 16, 0, 0)


async def buffer(dut):
    while True:
        await RisingEdge(dut.clk)
        if dut.buffer__valid.value:
            dut.buffer__data.value = FRAME[int(dut.buffer__address.value)]


async def start(dut):
    """Ask for a word; its header has been sent when this returns, and no answer is taken."""
    for name in ("frame", "answer__ready", "port__request__ready", "port__response__valid"):
        dut[name].value = 0
    dut.words.value, dut.buffer__data.value = REQUEST_HEADER, 0
    dut.port__response__payload.value = WORD
    await reset(dut)
    cocotb.start_soon(buffer(dut))
    await ClockCycles(dut.clk, 2)
    dut.frame.value, dut.answer__ready.value = 1, 1
    await RisingEdge(dut.clk)
    dut.frame.value = 0
    while not dut.port__request__valid.value:
        await RisingEdge(dut.clk)
    dut.answer__ready.value = 0


async def taken(dut, cycles):
    """The answer that is there after some cycles without one being taken."""
    await ClockCycles(dut.clk, cycles)
    await ReadOnly()
    assert dut.answer__valid.value
    return unpack(AnswerWord(), int(dut.answer__payload.value))


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(waits=["request", "response"], early=[1, 2])
async def the_last_moment(dut, waits, early):
    await start(dut)
    if waits == "response":
        dut.port__request__ready.value = 1
        await RisingEdge(dut.clk)
        dut.port__request__ready.value = 0
    await ClockCycles(dut.clk, DEAD_CYCLES - early)
    dut[f"port__{waits}__{'ready' if waits == 'request' else 'valid'}"].value = 1
    await RisingEdge(dut.clk)
    dut.port__response__valid.value = 1
    answer = await taken(dut, 3)
    assert answer.last
    # A word that is dropped must not be there for the next request: only a reset removes it.
    assert answer.spoiled == dut.dead.value
    assert answer.spoiled or answer.data == WORD


def test_executor():
    simulate(Executor(ext_bytes=1 << 16, bus_bytes=8), "executor", __name__)
