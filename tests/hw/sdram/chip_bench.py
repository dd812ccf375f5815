"""The far side of the controller in cocotb: pads, the strict chip, and users with a scoreboard."""
import random

import cocotb
from cocotb.triggers import RisingEdge, gather

from systolith.hw.external import ExternalRequest
from systolith.hw.sdram.timing import STARTUP_REFRESHES, SdramChip, SdramTiming
from systolith.sim.sdram_chip import SimulatedSdram
from tests.bench import Stream, parameters, reset

#: A chip that starts sooner, so that tests do.
CHIP = SdramChip(timing=SdramTiming(startup=2000))


class ChipBench:
    """Plays the registers of the pads and the chip behind them, and checks each command.

    Parameters
    ----------
    dut : handle
        An ``Sdram``; the parameters ``clock_hz`` and ``bus_bytes`` tell which.
    chip : SdramChip
        What the chip asks for, which the controller need not keep to.
    strict : bool
        Fail as soon as the chip complains.
    """

    def __init__(self, dut, *, chip=CHIP, strict=True):
        given = parameters()
        self.bus_bytes, self._clock_hz = given["bus_bytes"], given["clock_hz"]
        self.late, self._strict = CHIP.timing.clocking(self._clock_hz).late, strict
        self.chip = SimulatedSdram(chip, self._clock_hz)
        self.dut, self._random = dut, random.Random(1)
        self.request = Stream(dut, "user__request", shape=ExternalRequest())
        self.write, self.read = Stream(dut, "user__write"), Stream(dut, "user__read")
        self.cycle = 0

    async def start(self):
        """Reset; then the chip runs beside the test. The startup is waited for."""
        self.dut.forget.value = 0
        self.dut.data.value = 0
        cocotb.start_soon(self._run())
        await reset(self.dut, self.read, sources=[self.request, self.write])

    def check_refreshes(self):
        """All that were due are done, but for one."""
        due = self.cycle / self._clock_hz * 1e9 - CHIP.timing.startup
        assert self.chip.refreshes - STARTUP_REFRESHES >= due // CHIP.timing.refresh - 1 >= 1

    async def _run(self):
        edge = RisingEdge(self.dut.clk)
        driven = [None] * (1 + self.late)
        await edge  # before it, nothing has a value
        while True:
            await edge
            word = driven.pop(0)
            # Wires that nobody drives have any value.
            self.dut.data.value = self._random.getrandbits(16) if word is None else word
            driven.append(self.chip.edge(int(self.dut.pins.value)))
            assert not (self._strict and self.chip.violation), self.chip.violation
            self.cycle += 1

    async def access(self, plan, *, stall=0.0):
        """Do accesses in order: pairs of an address and a beat to write, or None to read. The
        beats read."""
        requests = [{"address": address, "write": beat is not None} for address, beat in plan]
        beats = [beat for _, beat in plan if beat is not None]
        _, _, read = await gather(
            self.request.send(requests, stall=stall), self.write.send(beats, stall=stall),
            self.read.receive(len(plan) - len(beats), stall=stall))
        return read

    def random_plan(self, count, known, *, addresses, writes=0.5):
        """Random accesses and the beats that must be read. ``known``, by address, is brought up to
        date; what is not known is written first."""
        plan, expected = [], []
        for _ in range(count):
            address = self._random.choice(addresses)
            if address not in known or self._random.random() < writes:
                known[address] = self._random.getrandbits(8 * self.bus_bytes)
                plan.append((address, known[address]))
            else:
                plan.append((address, None))
                expected.append(known[address])
        return plan, expected

    def random_addresses(self, count):
        """Addresses of beats in few rows of all banks, so that rows are hit and missed."""
        row = self.bus_bytes * (CHIP.size // 4 // (1 << CHIP.row_bits) // self.bus_bytes)
        rows = [row * self._random.randrange(CHIP.size // row) for _ in range(6)]
        rows += [rows[0] + 4 * row, rows[0] + 8 * row]  # of the same bank
        return [(self._random.choice(rows) + self.bus_bytes * self._random.randrange(
            row // self.bus_bytes)) % CHIP.size for _ in range(count)]
