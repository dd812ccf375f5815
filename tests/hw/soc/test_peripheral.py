# amaranth: UnusedElaboratable=no
"""The whole peripheral: programs that are run over Wishbone give the functional device's bytes."""
import re

import cocotb
import pytest
from amaranth import Value
from amaranth.lib.wiring import In
from cocotb.triggers import ClockCycles

from systolith.hw.config import MEMORIES, Config, ConfigError, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Control, Engine, Load, Register, status_field
from systolith.hw.soc.peripheral import Peripheral
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.program import Program
from tests.bench import ROOT, parameters, reset, simulate
from tests.hw.programs import EXT_USED, chain, fill
from tests.hw.soc.bus import Master, Memory, Refused
from tests.hw.soc.driver import Driver

CONFIG = Config(name="part", rows=4, cols=4, lanes=4, act_depth=256, wgt_depth=64, acc_depth=64,
                vec_depth=128, const_depth=64, row_depth=64, queue_depth=128, bus_bytes=4,
                ext_bytes=1 << 17)
WIDE = CONFIG.replace(name="wide", rows=8, cols=8, lanes=8, bus_bytes=8)
CONFIGS = {config.name: config for config in (CONFIG, WIDE)}
BASE = 0x4000_0000


class System(Driver):
    """What is around the peripheral, and the driver of the processor."""

    def __init__(self, dut, *, stall):
        config = CONFIGS[parameters()["config"]]
        super().__init__(config, Master(dut, "host", stall=stall))
        self.memory = Memory(dut, "memory", bytearray(config.ext_bytes), base=BASE,
                             width=config.bus_bytes, stall=stall)
        dut.memory_base.value = BASE


async def started(dut, *, stall=0.0):
    system = System(dut, stall=stall)
    await reset(dut)
    cocotb.start_soon(system.memory.run())
    return system


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(stall=[0.0, 0.5])
async def a_program_gives_the_bytes_of_the_functional_device(dut, stall):
    system = await started(dut, stall=stall)
    config, functional = system.config, FunctionalDevice(system.config)
    fill(functional)
    for region in MEMORIES:
        if region != Region.ACC:
            await system.write(region, 0, functional.read(region, 0, config.region_bytes(region)))
    system.memory.content[:EXT_USED] = functional.read("ext", 0, EXT_USED)
    program = chain(config, repeat=2)
    functional.run(program)
    functional.wait()
    await system.start(Program(config, program).words())
    await system.finish()
    for region in MEMORIES:
        size = config.region_bytes(region)
        if region != Region.ACC:
            assert await system.read(region, 0, size) == functional.read(region, 0, size), region
    assert system.memory.content[:EXT_USED] == functional.read("ext", 0, EXT_USED)
    assert system.memory.accesses == functional.counters().move_bytes // config.bus_bytes
    assert not dut.memory_error.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def accesses_take_their_cycles(dut):
    system = await started(dut)
    assert await system.register(Register.ID) == system.config.identity
    assert system.master.cycles == REGISTER_READ
    for region in (Region.VEC, Region.ACT):
        await system.write(region, 0, b"abcd")
        assert system.master.cycles == WRITE
        await system.master.idle(10)
        assert await system.read(region, 0, 4) == b"abcd"
        assert system.master.cycles == MEMORY_READ


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_stray_access_stops_nothing(dut):
    system = await started(dut)
    with pytest.raises(Refused):
        await system.read(Region.QUEUES, 0, 4)
    status = await system.register(Register.STATUS)
    assert status_field(status, "idle")
    assert not status_field(status, "error")


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_reset_of_the_core_leaves_no_cycle_unfinished(dut):
    """The memory checks that its master keeps to what it has begun."""
    system = await started(dut, stall=0.8)
    config, beats = system.config, 8
    load = Load(region=Region.ACT, rows=1, row_bytes=beats * config.bus_bytes, base=0)
    words = Program(config, {Engine.MOVE: [load]}).words()
    for cycles in range(0, 40, 3):
        await system.start(words)
        await system.master.idle(cycles)
        await system.set_register(Register.CONTROL, Control.RESET)
    await system.master.idle(50)
    system.memory.content[:] = b"\x5a" * config.ext_bytes
    await system.start(words)
    await system.finish()
    assert await system.read(Region.ACT, 0, load.row_bytes) == b"\x5a" * load.row_bytes
    assert system.memory.accesses > beats  # some of the earlier loads had begun


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_reset_in_an_access_ends_nothing_and_starts_it_again(dut):
    system = await started(dut)
    for cycles in range(1, REGISTER_READ):
        await system.master.begin(system.address(Region.REGISTERS, Register.ID))
        for rst in [0] * (cycles - 1) + [1]:
            dut.rst.value = rst
            await ClockCycles(dut.clk, 1)
            assert not dut.host__ack.value
        dut.rst.value = 0
        assert await system.master.end() == system.config.identity
        assert system.master.cycles == REGISTER_READ
        await system.master.idle(10)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def memory_that_refuses_stops_nothing(dut):
    system = await started(dut)
    system.memory.refuses = True
    load = Load(region=Region.ACT, rows=1, row_bytes=system.config.bus_bytes)
    await system.start(Program(system.config, {Engine.MOVE: [load]}).words())
    await system.finish()
    assert dut.memory_error.value


#: Cycles of an access, the first and the last included, as docs/soc.md tells them.
WRITE, REGISTER_READ, MEMORY_READ = 2, 6, 8


@pytest.mark.parametrize("name", [CONFIG.name, pytest.param(WIDE.name, marks=pytest.mark.slow)])
def test_peripheral(name):
    simulate(Peripheral(config=CONFIGS[name]), f"peripheral_{name}", __name__,
             parameters={"config": name})


def page_tables():
    """Rows of the tables of docs/soc.md, as lists of their cells."""
    lines = (ROOT / "docs" / "soc.md").read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]


def test_the_page_lists_all_ports():
    part = Peripheral(config=get_config("sim16"))
    ports = {"__".join(map(str, path)): ("input" if member.flow == In else "output",
                                         str(len(Value.cast(value))))
             for path, member, value in part.signature.flatten(part)}
    ports |= {"clk": ("input", "1"), "rst": ("input", "1")}
    listed = {name: (row[1], row[2]) for row in page_tables() if row[1] in ("input", "output")
              for name in re.findall(r"`(\w+)`", row[0])}
    assert listed == ports


def test_the_page_tells_the_cycles_of_an_access():
    rows = dict(row for row in page_tables() if len(row) == 2)
    assert (rows["write"], rows["read of a register"], rows["read of a memory"]) == (
        str(WRITE), str(REGISTER_READ), str(MEMORY_READ))


def test_rejects():
    with pytest.raises(TypeError, match="config must be a Config, not None"):
        Peripheral(config=None)
    with pytest.raises(ConfigError, match="'ice40up5k' has a compact core with its external"):
        Peripheral(config=get_config("ice40up5k"))
