"""The commands after power-up, and the pauses between them."""
from itertools import pairwise

from systolith.hw.sdram.interface import ALL_BANKS, Command
from systolith.hw.sdram.startup import Startup
from systolith.hw.sdram.timing import STARTUP_REFRESHES, SdramTiming
from tests.hw.sdram.simulated import simulate

CYCLES = SdramTiming(startup=500).cycles(100e6)


def test_commands_and_pauses():
    dut = Startup(cycles=CYCLES, burst=4)
    seen, done = [], []

    async def bench(context):
        for cycle in range(400):
            command = Command(context.get(dut.command))
            if command != Command.NONE:
                seen.append((cycle, command, context.get(dut.address)))
            if context.get(dut.done):
                done.append(cycle)
            await context.tick()

    simulate(dut, bench)
    cycles, commands, addresses = zip(*seen, strict=True)
    assert commands == (Command.PRECHARGE, *[Command.REFRESH] * STARTUP_REFRESHES, Command.MODE)
    # Bursts of four words in order, CAS latency 2.
    assert (addresses[0], addresses[-1]) == (ALL_BANKS, 0b010_0_010)
    pauses = [after - before for before, after in pairwise((0, *cycles, done[0]))]
    assert pauses == [CYCLES.startup, CYCLES.rp, *[CYCLES.rfc] * STARTUP_REFRESHES, CYCLES.mrd]
    assert done == list(range(done[0], 400))
