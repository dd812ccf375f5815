"""The registers: what each offset reads, and what writes do."""
import cocotb
from cocotb.triggers import RisingEdge, Timer

from systolith.hw.config import Config
from systolith.hw.isa import (
    ENGINES,
    VERSION,
    Cause,
    Control,
    Counter,
    Engine,
    Register,
    counter_offset,
    status_field,
)
from systolith.hw.registers import REGISTER_BYTES, Registers
from tests.bench import reset, simulate

CONFIG = Config(name="r", rows=4, cols=4, lanes=2, semaphores=6, semaphore_width=5)


def inputs(dut):
    return [dut.idle, dut.waiting, dut.active, dut.stopped, dut.fault, dut.space, dut.semaphores,
            dut.cycles, dut.move_bytes, dut.counters, dut.port__write, dut.port__address,
            dut.port__data]


async def start(dut):
    for signal in inputs(dut):
        signal.value = 0
    await reset(dut)


async def read(dut, offset):
    dut.port__address.value = int(offset)
    await RisingEdge(dut.clk)
    await Timer(1, "ns")
    return int(dut.port__read_data.value)


async def write(dut, offset, data):
    """Write; returns what ``clear`` and ``signal`` were in the cycle of the write."""
    dut.port__write.value, dut.port__address.value, dut.port__data.value = 1, int(offset), data
    await RisingEdge(dut.clk)
    dut.port__write.value = 0
    return bool(dut.clear.value), int(dut.signal.value)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def every_register_reads_its_input(dut):
    await start(dut)
    dut.cycles.value, dut.move_bytes.value = 0x12345678, 0xFFFFFFFF
    dut.space.value = 512 << 20 | 3 << 10 | 255
    dut.semaphores.value = sum((9 + i) << 5 * i for i in range(6))
    dut.counters.value = sum((1000 * e + c) << 32 * (5 * e + c) for e in ENGINES for c in Counter)
    expected = {
        Register.ID: CONFIG.identity, Register.VERSION: VERSION, Register.CYCLES: 0x12345678,
        Register.MOVE_BYTES: 0xFFFFFFFF, Register.QUEUE_SPACE: 512 << 20 | 3 << 10 | 255,
        Register.SEMAPHORES: 0x0C0B0A09, Register.SEMAPHORES + 4: 0x0E0D,
        **{counter_offset(e, c): 1000 * e + c for e in ENGINES for c in Counter},
    }
    for offset in range(0, REGISTER_BYTES, 4):
        assert await read(dut, offset) == expected.get(offset, 0), hex(offset)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def status_has_its_fields(dut):
    await start(dut)
    dut.idle.value, dut.waiting.value, dut.active.value, dut.stopped.value = 1, 5, 3, 1
    dut.fault.value = 0xABCD << 6 | Cause.ILLEGAL << 2 | Engine.VECTOR
    status = await read(dut, Register.STATUS)
    values = {"idle": 1, "error": 1, "engine": Engine.VECTOR, "cause": Cause.ILLEGAL,
              "waiting": 5, "active": 3, "index": 0xABCD}
    assert {name: status_field(status, name) for name in values} == values


@cocotb.test(timeout_time=20, timeout_unit="us")
async def control_keeps_run_and_pulses_the_rest(dut):
    await start(dut)
    for value in range(8):
        clear, _ = await write(dut, Register.CONTROL, value)
        assert clear == bool(value & Control.CLEAR_COUNTERS)
        await RisingEdge(dut.clk)
        assert bool(dut.run.value) == bool(value & Control.RUN)
        assert bool(dut.reset.value) == bool(value & Control.RESET)
        assert await read(dut, Register.CONTROL) == value & Control.RUN
        await RisingEdge(dut.clk)
        assert not dut.reset.value
        assert not dut.clear.value
        assert bool(dut.run.value) == bool(value & Control.RUN)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def signal_lasts_one_cycle_and_other_writes_do_nothing(dut):
    await start(dut)
    assert await write(dut, Register.SIGNAL, 0x9234) == (False, 0x9234)
    await RisingEdge(dut.clk)
    assert int(dut.signal.value) == 0
    for offset in range(0, REGISTER_BYTES, 4):
        if offset not in (Register.SIGNAL, Register.CONTROL):
            assert await write(dut, offset, 0xFFFFFFFF) == (False, 0)
    await RisingEdge(dut.clk)
    assert not dut.run.value
    assert not dut.reset.value


def test_registers():
    simulate(Registers(config=CONFIG), "registers", __name__)
