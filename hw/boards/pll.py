"""The PLL that makes the core's clock out of the board's oscillator."""
from typing import NamedTuple

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.boards.board import Board
from systolith.hw.config import ConfigError

#: Largest deviation of the clock from what was asked for.
TOLERANCE = 0.02

#: Middle of the range of the inner oscillator, MHz.
_MIDDLE = {"ice40": 800, "ecp5": 600}

#: Currents and filters of the ECP5's PLL, which the packer takes from attributes, as given in
#: Lattice's technical note 1263 for this mode.
ECP5_ATTRIBUTES = {"ICP_CURRENT": "12", "LPF_RESISTOR": "8", "MFG_ENABLE_FILTEROPAMP": "1",
                   "MFG_GMCREF_SEL": "2"}


class Dividers(NamedTuple):
    """``mhz = oscillator / reference * feedback`` (ECP5), ``/ output`` as well (iCE40).

    The oscillator inside of the PLL runs ``output`` times faster than the clock.
    """

    reference: int
    feedback: int
    output: int
    mhz: float


def dividers(board: Board) -> Dividers:
    """The dividers that come nearest to the board's clock; among equals, with the inner oscillator
    near the middle of its range.

    Ranges are those of the data sheets: iCE40 UltraPlus, 533 to 1066 MHz inside, 10 to 133 MHz
    compared; ECP5, 400 to 800 MHz inside, 10 to 400 MHz compared where possible, 3.125 at least.

    Raises
    ------
    ConfigError
        When no dividers come within ``TOLERANCE``.
    """
    candidates = {"ice40": _ice40, "ecp5": _ecp5}[board.family](board.oscillator_mhz)
    best = min(candidates, key=lambda found: (
        abs(found.mhz - board.clock_mhz), found.reference,
        abs(found.mhz * found.output - _MIDDLE[board.family])))
    if abs(best.mhz - board.clock_mhz) > TOLERANCE * board.clock_mhz:
        raise ConfigError(f"the PLL of {board.name} cannot make {board.clock_mhz:g} MHz out of "
                          f"{board.oscillator_mhz:g}: the nearest is {best.mhz:.2f}")
    return best


def _ice40(oscillator):
    for reference in range(1, 17):
        compared = oscillator / reference
        if not 10 <= compared <= 133:
            continue
        for feedback in range(1, 65):
            for exponent in range(1, 7):
                if 533 <= compared * feedback <= 1066:
                    yield Dividers(reference, feedback, 1 << exponent,
                                   compared * feedback / (1 << exponent))


def _ecp5(oscillator):
    for reference in range(1, 129):
        compared = oscillator / reference
        if not 3.125 <= compared <= 400:
            continue
        for feedback in range(1, 81):
            mhz = compared * feedback
            for output in range(1, 129):
                if 400 <= mhz * output <= 800:
                    yield Dividers(reference, feedback, output, mhz)


class Pll(wiring.Component):
    """The vendor's PLL with the board's dividers.

    Parameters
    ----------
    board : Board
        Family and clocks.

    Members
    -------
    reference : In(1)
        The pin of the oscillator.
    clock : Out(1)
        Clock of the core.
    locked : Out(1)
        The clock is stable.
    shifted : Out(1)
        For a board with an SDRAM: the clock of which the inverse has its rising edges where the
        chip wants them, see :class:`~systolith.hw.sdram.timing.Clocking`.
    """

    def __init__(self, *, board):
        self._board = board
        self._dividers = dividers(board)
        super().__init__({"reference": In(1), "clock": Out(1), "locked": Out(1),
                          **({"shifted": Out(1)} if board.sdram else {})})

    def elaborate(self, platform):
        m = Module()
        m.submodules.pll = {"ice40": self._ice40, "ecp5": self._ecp5}[self._board.family]()
        return m

    def _ice40(self):
        found = self._dividers
        kind, pin = (("SB_PLL40_PAD", "i_PACKAGEPIN") if self._board.pll_pad
                     else ("SB_PLL40_CORE", "i_REFERENCECLK"))
        return Instance(
            kind, p_FEEDBACK_PATH="SIMPLE", p_DIVR=Const(found.reference - 1, 4),
            p_DIVF=Const(found.feedback - 1, 7),
            p_DIVQ=Const(found.output.bit_length() - 1, 3),
            # For 10 to 17 MHz compared.
            p_FILTER_RANGE=Const(1, 3), i_RESETB=Const(1), i_BYPASS=Const(0),
            o_PLLOUTGLOBAL=self.clock, o_LOCK=self.locked, **{pin: self.reference})

    def _ecp5(self):
        found = self._dividers
        return Instance(
            "EHXPLLL", p_FEEDBK_PATH="CLKOP", p_CLKI_DIV=found.reference,
            p_CLKFB_DIV=found.feedback, p_CLKOP_DIV=found.output, p_CLKOP_ENABLE="ENABLED",
            # Half a period of the clock, in periods of the inner oscillator.
            p_CLKOP_CPHASE=found.output // 2, p_CLKOP_FPHASE=0, p_OUTDIVIDER_MUXA="DIVA",
            p_PLLRST_ENA="DISABLED", p_INTFB_WAKE="DISABLED", p_STDBY_ENABLE="DISABLED",
            p_DPHASE_SOURCE="DISABLED",
            i_CLKI=self.reference, i_CLKFB=self.clock, i_RST=Const(0), i_STDBY=Const(0),
            i_PHASESEL0=Const(0), i_PHASESEL1=Const(0), i_PHASEDIR=Const(1),
            i_PHASESTEP=Const(1), i_PHASELOADREG=Const(1), i_PLLWAKESYNC=Const(0),
            i_ENCLKOP=Const(0), o_CLKOP=self.clock, o_LOCK=self.locked,
            **(self._ecp5_shifted() if self._board.sdram else {}))

    def _ecp5_shifted(self):
        """A second output, some quarters of a period after the first."""
        found = self._dividers
        timing = self._board.sdram.chip.timing
        # The pad inverts the clock, which is half a period.
        quarters = (timing.clocking(found.mhz * 1e6).quarters - 2) % 4
        # Phases are whole periods of the inner oscillator and eighths.
        whole, eighths = divmod(2 * found.output * quarters, 8)
        return {"p_CLKOS_DIV": found.output, "p_CLKOS_ENABLE": "ENABLED",
                "p_CLKOS_CPHASE": found.output // 2 + whole, "p_CLKOS_FPHASE": eighths,
                "p_OUTDIVIDER_MUXB": "DIVB", "i_ENCLKOS": Const(0), "o_CLKOS": self.shifted}
