"""The first fault of a core: order, index, and that it stays."""
import cocotb
from cocotb.triggers import RisingEdge

from systolith.hw.faults import Fault, Faults
from systolith.hw.isa import ENGINES, Cause, Engine
from tests.bench import reset, simulate, unpack


async def start(dut):
    dut.address.value = dut.overrun.value = dut.overflow.value = 0
    for engine in ENGINES:
        name = engine.name.lower()
        dut[f"{name}__error"].value = 0
        dut[f"{name}__cause"].value = Cause.ILLEGAL
        dut[f"{name}__index"].value = 100 + engine
        dut[f"{name}__started"].value = 200 + engine
        dut[f"{name}__retired"].value = 300 + engine
    await reset(dut)


#: How to make each fault, and what it must be; the first in the list wins.
FAULTS = [
    *((f"{e.name.lower()}__error", 1, (e, Cause.ILLEGAL, 100 + e)) for e in ENGINES),
    ("address", 1, (Engine.HOST, Cause.ADDRESS, 0)),
    *(("overrun", 1 << e, (e, Cause.QUEUE_OVERRUN, 200 + e)) for e in ENGINES),
    *(("overflow", 1 << e, (e, Cause.SEMAPHORE_OVERFLOW, 300 + e)) for e in ENGINES),
    ("overflow", 8, (Engine.HOST, Cause.SEMAPHORE_OVERFLOW, 0)),
]


async def check(dut, expected):
    await RisingEdge(dut.clk)
    fault = unpack(Fault(), int(dut.fault.value))
    assert dut.stopped.value
    assert (fault.engine, fault.cause, fault.index) == expected


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(first=list(range(len(FAULTS))))
async def the_first_stays(dut, first):
    await start(dut)
    await RisingEdge(dut.clk)
    assert not dut.stopped.value
    # All faults from this one on happen at once; overflows are told one cycle late.
    names = sorted({fault[0] for fault in FAULTS[first:]}, key=lambda name: name == "overflow")
    for name in names:
        if name == "overflow":
            await RisingEdge(dut.clk)
        dut[name].value = sum(value for other, value, _ in FAULTS[first:] if other == name)
    await RisingEdge(dut.clk)
    await check(dut, FAULTS[first][2])
    for name, value, _ in FAULTS:
        dut[name].value = value
    await check(dut, FAULTS[first][2])
    await check(dut, FAULTS[first][2])


def test_faults():
    simulate(Faults(), "faults", __name__)
