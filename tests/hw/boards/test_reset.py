"""The reset after power-up, and after a clock that was lost."""
from amaranth import ClockDomain, Module
from amaranth.sim import Simulator

from systolith.hw.boards.reset import RESET_CYCLES, PowerOnReset


def test_reset_ends_once_the_clock_has_been_stable_long_enough():
    m = Module()
    m.domains.power = ClockDomain(reset_less=True)
    m.submodules.dut = dut = PowerOnReset()

    async def bench(context):
        async def cycles_until_released():
            for cycle in range(2 * RESET_CYCLES):
                if not context.get(dut.reset):
                    return cycle
                await context.tick("power")
            return None

        assert await cycles_until_released() is None, "no clock, no end"
        context.set(dut.locked, 1)
        assert RESET_CYCLES <= await cycles_until_released() <= RESET_CYCLES + 4
        await context.tick("power").repeat(3 * RESET_CYCLES)
        assert not context.get(dut.reset)
        context.set(dut.locked, 0)
        await context.tick("power").repeat(4)
        assert context.get(dut.reset)
        context.set(dut.locked, 1)
        assert await cycles_until_released() >= RESET_CYCLES

    simulator = Simulator(m)
    simulator.add_clock(1e-6, domain="power")
    simulator.add_testbench(bench)
    simulator.run()
