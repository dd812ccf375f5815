"""What a bank may be asked for, and after how many cycles."""
import pytest

from systolith.hw.sdram.bank import Bank
from systolith.hw.sdram.timing import SdramTiming
from tests.hw.sdram.simulated import simulate

CYCLES = SdramTiming(rcd=30, rp=40, ras=90, rc=140, rfc=200, wr=50).cycles(100e6)
BURST = 4


class Steps:
    """Does one thing to a bank, and counts cycles until it takes another."""

    def __init__(self, context):
        self.dut = Bank(cycles=CYCLES, burst=BURST, row_bits=13)
        self.context = context

    async def do(self, *names):
        for name in names:
            self.context.set(getattr(self.dut, name), 1)
        await self.context.tick()
        for name in names:
            self.context.set(getattr(self.dut, name), 0)

    async def until(self, name):
        """Cycles from the last command to the first that may be `name`."""
        for cycles in range(1, 50):
            if self.context.get(getattr(self.dut, name)):
                return cycles
            await self.context.tick()
        return None


def check(steps):
    dut = Bank(cycles=CYCLES, burst=BURST, row_bits=13)

    async def bench(context):
        bank = Steps(context)
        bank.dut = dut
        await steps(bank)

    simulate(dut, bench)


def test_a_row_is_opened_used_and_closed():
    async def steps(bank):
        assert await bank.until("can_activate") == 1
        bank.context.set(bank.dut.row, 77)
        await bank.do("activate")
        assert bank.context.get(bank.dut.open)
        assert bank.context.get(bank.dut.open_row) == 77
        assert not bank.context.get(bank.dut.can_activate)
        assert await bank.until("can_column") == CYCLES.rcd
        assert await bank.until("can_precharge") == CYCLES.ras - CYCLES.rcd + 1
        await bank.do("precharge")
        assert not bank.context.get(bank.dut.open)
        assert await bank.until("can_activate") == CYCLES.rc - CYCLES.ras

    check(steps)


@pytest.mark.parametrize(("commands", "name", "cycles"), [
    (("precharge",), "can_activate", CYCLES.rp), (("refresh",), "can_activate", CYCLES.rfc),
    (("column",), "can_precharge", BURST),
    (("column", "write"), "can_precharge", BURST - 1 + CYCLES.wr)])
def test_pauses(commands, name, cycles):
    async def steps(bank):
        await bank.do("activate")
        await bank.context.tick().repeat(40)
        if name == "can_activate":
            await bank.do("precharge")
            await bank.context.tick().repeat(40)
        await bank.do(*commands)
        assert await bank.until(name) == cycles

    check(steps)
