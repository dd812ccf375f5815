# amaranth: UnusedElaboratable=no
"""The whole peripheral: programs that are run over Wishbone give the functional device's bytes."""
import cocotb
import pytest

from systolith.hw.config import MEMORIES, Config, Region
from systolith.hw.isa import ENGINES, Control, Register, status_field
from systolith.hw.soc.peripheral import Peripheral
from systolith.sw.runtime.functional import FunctionalDevice
from tests.bench import parameters, reset, simulate
from tests.hw.programs import EXT_USED, chain, fill
from tests.hw.soc.bus import Master, Memory, Refused

CONFIG = Config(name="part", rows=4, cols=4, lanes=4, act_depth=256, wgt_depth=64, acc_depth=64,
                vec_depth=128, const_depth=64, row_depth=64, queue_depth=128, bus_bytes=4,
                ext_bytes=1 << 17)
WIDE = CONFIG.replace(name="wide", rows=16, cols=16, lanes=16, bus_bytes=16)
CONFIGS = {config.name: config for config in (CONFIG, WIDE)}
BASE = 0x4000_0000


class System:
    """What is around the peripheral, and the driver of the processor."""

    def __init__(self, dut, *, stall):
        self.config = CONFIGS[parameters()["config"]]
        self.master = Master(dut, "host", stall=stall)
        self.memory = Memory(dut, "memory", bytearray(self.config.ext_bytes), base=BASE,
                             width=self.config.bus_bytes, stall=stall)
        dut.memory_base.value = BASE

    async def write(self, region, offset, data):
        for place in range(0, len(data), 4):
            await self.master.access(self.config.host_address(region, offset + place),
                                     int.from_bytes(data[place:place + 4], "little"))

    async def read(self, region, offset, size):
        words = [await self.master.access(self.config.host_address(region, offset + place))
                 for place in range(0, size, 4)]
        return b"".join(word.to_bytes(4, "little") for word in words)

    async def register(self, offset):
        return int.from_bytes(await self.read(Region.REGISTERS, offset, 4), "little")

    async def control(self, value):
        await self.write(Region.REGISTERS, Register.CONTROL, value.to_bytes(4, "little"))

    async def run(self, queues):
        """Push commands, start, and wait for the end."""
        for engine in ENGINES:
            for command in queues[engine]:
                for word in command.encode():
                    await self.write(Region.QUEUES, 4 * engine, word.to_bytes(4, "little"))
        await self.control(Control.RUN | Control.CLEAR_COUNTERS)
        while not status_field(status := await self.register(Register.STATUS), "idle"):
            assert not status_field(status, "error")


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
    await system.run(program)
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


#: Cycles of an access, the first and the last included, as docs/soc.md tells them.
WRITE, REGISTER_READ, MEMORY_READ = 2, 6, 7


@pytest.mark.parametrize("name", CONFIGS)
def test_peripheral(name):
    simulate(Peripheral(config=CONFIGS[name]), f"peripheral_{name}", __name__,
             parameters={"config": name})


def test_rejects():
    with pytest.raises(TypeError, match="config must be a Config, not None"):
        Peripheral(config=None)
