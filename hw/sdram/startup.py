"""Brings an SDRAM from power-up into operation."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from systolith.hw.sdram.interface import ADDRESS_WIRES, ALL_BANKS, Command
from systolith.hw.sdram.timing import STARTUP_REFRESHES


class Startup(wiring.Component):
    """Waits, precharges all banks, refreshes eight times, and sets the mode register.

    Parameters
    ----------
    cycles : SdramCycles
        Times of the chip.
    burst : int
        Words that a column command moves: 1, 2, 4 or 8. They come in order, and so they are
        written.

    Members
    -------
    command : Out(Command), address : Out(ADDRESS_WIRES)
        What the chip is to do; after the end, nothing.
    done : Out(1)
        The chip can be used.
    """

    def __init__(self, *, cycles, burst):
        self._cycles, self._burst = cycles, burst
        super().__init__({"command": Out(Command), "address": Out(ADDRESS_WIRES), "done": Out(1)})

    def steps(self):
        """Each command, its address, and the cycles until the next."""
        mode = self._cycles.cas << 4 | self._burst.bit_length() - 1
        yield Command.NONE, 0, self._cycles.startup
        yield Command.PRECHARGE, ALL_BANKS, self._cycles.rp
        for _ in range(STARTUP_REFRESHES):
            yield Command.REFRESH, 0, self._cycles.rfc
        yield Command.MODE, mode, self._cycles.mrd

    def elaborate(self, platform):
        m = Module()
        steps = list(self.steps())
        longest = max(cycles for _, _, cycles in steps)
        step, elapsed, last = Signal(range(len(steps) + 1)), Signal(range(longest)), Signal()
        with m.Switch(step):
            for number, (command, address, cycles) in enumerate(steps):
                with m.Case(number):
                    m.d.comb += [self.address.eq(address), last.eq(elapsed == cycles - 1)]
                    with m.If(elapsed == 0):
                        m.d.comb += self.command.eq(command)
            with m.Default():
                m.d.comb += self.done.eq(1)
        m.d.sync += elapsed.eq(Mux(last, 0, elapsed + ~self.done))
        with m.If(last):
            m.d.sync += step.eq(step + 1)
        return m
