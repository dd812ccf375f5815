"""The pads of an ECP5 to an SDRAM chip: a register in each, and the chip's clock."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.boards.pin import Pin
from systolith.hw.boards.sdram_wires import SdramWires
from systolith.hw.sdram.interface import SdramPins
from systolith.hw.sdram.timing import WORD_BITS


class SdramPads(wiring.Component):
    """Registers of the pads, which all switch at the same time, and the chip's clock.

    The chip sees its rising edge some quarters of a period after the pads have changed, so both
    set-up and hold time are a quarter at least. One cycle each way.

    Parameters
    ----------
    wires : SdramWires
        Which pins act on a low level.
    pads : IOPort
        The data wires, both ways.

    Members
    -------
    pins : In(SdramPins), data : Out(16)
        The controller's side.
    shifted : In(1)
        Clock that is inverted for the chip, see :class:`~systolith.hw.boards.pll.Pll`.
    clock, clock_enable, select, ras, cas, we : Out(1), bank, address, mask : Out
        The other pads, in the level that the chip needs.
    """

    def __init__(self, *, wires: SdramWires, pads):
        self._wires, self._pads = wires, pads
        widths = {name: len(getattr(wires, name)) for name in ("bank", "address", "mask")}
        super().__init__({
            "pins": In(SdramPins()), "data": Out(WORD_BITS), "shifted": In(1),
            "clock": Out(1),
            **{name: Out(1) for name in ("clock_enable", "select", "ras", "cas", "we")},
            **{name: Out(width) for name, width in widths.items()}})

    def elaborate(self, platform):
        m = Module()
        we, cas, ras = Value.cast(self.pins.command)
        levels = {"ras": ras, "cas": cas, "we": we, "bank": self.pins.bank,
                  "address": self.pins.address,
                  "mask": self.pins.mask.replicate(len(self._wires.mask)),
                  # Zero until the first clock edge: before it, the pads hold no command.
                  "clock_enable": Const(1)}
        for name, level in levels.items():
            wires = getattr(self._wires, name)
            for bit, pin in enumerate([wires] if isinstance(wires, Pin) else wires):
                self._register(m, f"{name}_{bit}", level[bit] ^ pin.inverted,
                               getattr(self, name)[bit])
        m.d.comb += self.select.eq(not self._wires.select.inverted)
        m.submodules.clock = Instance("ODDRX1F", i_SCLK=self.shifted, i_RST=Const(0),
                                      i_D0=Const(0), i_D1=Const(1), o_Q=self.clock)
        for bit in range(WORD_BITS):
            self._wire(m, bit)
        return m

    def _register(self, m, name, level, pad):
        m.submodules[name] = Instance(
            "OFS1P3DX", i_D=level, i_SP=Const(1), i_CD=Const(0), i_SCLK=ClockSignal(), o_Q=pad)

    def _wire(self, m, bit):
        """One of the data wires."""
        level, release, arrived = (Signal(name=f"{name}_{bit}")
                                   for name in ("level", "release", "arrived"))
        self._register(m, f"data_{bit}", self.pins.data[bit], level)
        self._register(m, f"release_{bit}", ~self.pins.drive, release)
        m.submodules[f"wire_{bit}"] = Instance("BB", i_I=level, i_T=release, o_O=arrived,
                                               io_B=self._pads[bit])
        m.submodules[f"arrived_{bit}"] = Instance(
            "IFS1P3DX", i_D=arrived, i_SP=Const(1), i_CD=Const(0), i_SCLK=ClockSignal(),
            o_Q=self.data[bit])
