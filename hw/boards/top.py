"""The top level that goes into the FPGA of a board: pins, clock and reset around a machine."""
from collections import Counter

from amaranth import *
from amaranth.hdl import IOPort
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.boards.board import Board
from systolith.hw.boards.pll import Pll
from systolith.hw.boards.reset import PowerOnReset
from systolith.hw.boards.sdram_pads import SdramPads
from systolith.hw.boards.sdram_wires import DATA, SIGNALS
from systolith.hw.sdram.interface import SdramPins
from systolith.hw.sdram.timing import WORD_BITS

#: Name of the top module.
TOP = "board"

#: What a machine must have: the UART, idle at one, and its state for the lamps.
MACHINE = {"rx": In(1), "tx": Out(1), "fault": Out(1)}
#: And for a board with an SDRAM.
SDRAM = {"pins": Out(SdramPins()), "data": In(WORD_BITS)}


class BoardTop(wiring.Component):
    """A machine on a board. The vendor's PLL is here alone, so the machine can be simulated.

    Parameters
    ----------
    board : Board
        Pins and clocks.
    machine : wiring.Component
        Works in the domain ``sync``; has the members ``rx``, ``tx`` and ``fault`` of one bit, and
        for a board with an SDRAM ``pins`` and ``data``, see :class:`SdramPads`.

    Members
    -------
    clock : In(1)
        Pin of the oscillator.
    rx : In(1), tx : Out(1)
        Pins of the UART.
    ready, fault : Out(1)
        Pins of the lamps, in the level that the board needs: reset is over; the machine stopped.
    high_0, ... : Out(1)
        Pins that are held at one.
    sdram_clock, ... : Out
        Pins of the SDRAM, where there is one. ``sdram_data`` goes both ways and is a port of the
        top level, not a member.

    Raises
    ------
    TypeError
        When a parameter is of another kind, or the machine lacks a member.
    """

    def __init__(self, *, board, machine):
        if not isinstance(board, Board):
            raise TypeError(f"board must be a Board, not {board!r}")
        members = dict(machine.signature.members.items())
        for name, member in (MACHINE | (SDRAM if board.sdram else {})).items():
            found = members.get(name)
            if found is None or (found.flow, found.shape) != (member.flow, member.shape):
                raise TypeError(f"machine must have a member {name}: {member!r}")
        self._board, self._machine = board, machine
        widths = Counter(name.partition("[")[0] for name in board.pins)
        both_ways = widths.pop(DATA, 0)
        self._pads = IOPort(both_ways, name=DATA) if both_ways else None
        inputs = ("clock", "rx")
        super().__init__({port: In(1) if port in inputs else Out(width)
                          for port, width in widths.items()})

    def elaborate(self, platform):
        m = Module()
        m.submodules.pll = pll = Pll(board=self._board)
        m.submodules.power_on = power_on = PowerOnReset()
        m.submodules.machine = machine = self._machine
        sync, power = ClockDomain("sync"), ClockDomain("power", reset_less=True)
        m.domains += [sync, power]
        received = self._received(m)
        m.d.comb += [
            pll.reference.eq(self.clock), power_on.locked.eq(pll.locked),
            sync.clk.eq(pll.clock), power.clk.eq(pll.clock), sync.rst.eq(power_on.reset),
            machine.rx.eq(received), self.tx.eq(machine.tx),
            *self._lamps(~power_on.reset, machine.fault),
        ]
        m.d.comb += [getattr(self, port).eq(1) for port in self._board.pins
                     if port.startswith("high")]
        if self._board.sdram:
            self._sdram(m, machine, pll.shifted)
        return m

    def _sdram(self, m, machine, shifted):
        m.submodules.pads = pads = SdramPads(wires=self._board.sdram, pads=self._pads)
        m.d.comb += [pads.pins.eq(machine.pins), machine.data.eq(pads.data),
                     pads.shifted.eq(shifted),
                     *(getattr(self, f"sdram_{name}").eq(getattr(pads, name)) for name in SIGNALS)]

    def _received(self, m):
        """The UART's input in step with the clock; idle until then."""
        first, second = Signal(init=1), Signal(init=1)
        m.d.power += [first.eq(self.rx), second.eq(first)]
        return second

    def _lamps(self, ready, fault):
        for port, lit in (("ready", ready), ("fault", fault)):
            yield getattr(self, port).eq(lit ^ getattr(self._board, port).inverted)
