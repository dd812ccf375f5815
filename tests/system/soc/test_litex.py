"""The LiteX example: products run in its memory, through its bus, and equal the NumPy reference."""
import subprocess
import sys
from pathlib import Path

import cocotb
import pytest
from cocotb.task import bridge

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Register
from systolith.sim.commands.generate import write_chip
from systolith.sim.progress import Progress
from systolith.sw.compiler import compile_product
from tests.bench import parameters, reset, simulate
from tests.hw.soc.bus import Master, Refused
from tests.hw.soc.device import BusDevice
from tests.hw.soc.driver import Driver

TINY = get_config("tiny")
#: Beats of two words of the bus.
WIDE = TINY.replace(name="wide", rows=8, cols=8, lanes=8, bus_bytes=8)
CONFIGS = {config.name: config for config in (TINY, WIDE)}
EXAMPLE = Path(__file__).parents[3] / "docs" / "litex_soc.py"
#: Where the example puts them.
ACCELERATOR, MEMORY = 0x3000_0000, 0x4000_0000
#: Warnings of Verilator about LiteX's own Verilog. Its width converter has `cyc` and `ack` in one
#: process, which looks like a loop.
LITEX_STYLE = "".join(f"/* verilator lint_off {warning} */\n" for warning in (
    "CASEINCOMPLETE", "COMBDLY", "UNOPTFLAT", "WIDTHEXPAND", "WIDTHTRUNC"))


async def started(dut):
    # LiteX gives the bus to another master only when the one that has it ends CYC.
    master = Master(dut, "host", classic=True, separator="_", stall=0.3)
    driver = Driver(CONFIGS[parameters()["config"]], master, base=ACCELERATOR)
    await reset(dut)
    await driver.master.idle(4)
    return driver


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def products_are_exact(dut):
    driver = await started(dut)
    assert await driver.register(Register.ID) == driver.config.identity
    device = BusDevice(driver, external=MEMORY)
    for resident, (m, k, n) in ((True, (5, 9, 7)), (False, (9, 13, 6))):
        product = compile_product(driver.config, m=m, k=k, n=n, resident=resident, seed=m)
        result = await bridge(product.run)(device)
        assert result.bit_exact
        assert bool(result.counters.move_bytes) is not resident
    assert not dut.memory_error.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def errors_come_through(dut):
    driver = await started(dut)
    for region, offset in ((Region.QUEUES, 0), (Region.REGISTERS, 0x100)):
        with pytest.raises(Refused):
            await driver.read(region, offset, 4)
    with pytest.raises(Refused):
        await driver.master.access(driver.address(Region.VEC), 5, sel=1)
    assert await driver.register(Register.ID) == driver.config.identity


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_litex(name, tmp_path):
    pytest.importorskip("litex", reason="LiteX is not installed (extra `soc`)")
    write_chip(CONFIGS[name], tmp_path, port="wishbone", progress=Progress(quiet=True))
    subprocess.run([sys.executable, EXAMPLE, tmp_path, "-o", tmp_path / "soc.v"], check=True,
                   capture_output=True)
    text = (tmp_path / "soc.v").read_text() + (tmp_path / "systolith.v").read_text()
    simulate(LITEX_STYLE + text, "soc", __name__, parameters={"config": name})
