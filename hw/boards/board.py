"""What the flow needs to know of a board, as plain data."""
from dataclasses import dataclass
from typing import NamedTuple

#: How a family is written to a board, and the ending of its bitstream.
FAMILIES = {"ice40": "bin", "ecp5": "bit"}


class Pin(NamedTuple):
    """One wire between FPGA and board.

    ``site`` is the ball or pin of the package, ``inverted`` says that the board acts on a low
    level, and ``attributes`` are those of the pad, in the words of the family's constraints.
    """

    site: str
    attributes: tuple[str, ...] = ()
    inverted: bool = False


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board and what is built for it.

    Parameters
    ----------
    name, title : str
        Name on the command line, and the name that its maker gave it.
    family : str
        ``"ice40"`` or ``"ecp5"``.
    device, package, speed : str
        As nextpnr names them, for example ``"85k"``, ``"CABGA381"``, ``"6"``. An iCE40 has one
        speed, ``""``.
    oscillator_mhz : float
        Clock at the pin ``clock``.
    clock_mhz : float
        Clock of the core, made by the FPGA's PLL; also what timing must reach.
    config : str
        Named configuration.
    baud : int
        Bits a second of the UART.
    clock, rx, tx : Pin
        Oscillator, and the UART as the FPGA sees it: it listens on ``rx``.
    ready, fault : Pin
        Lamps: reset is over; the core has stopped.
    pll_pad : bool
        ``clock`` is the pin that an iCE40 wires straight to its PLL.
    high : tuple of Pin
        Pins that must be held at one, such as the selection of a flash that shares wires.
    flash : tuple of str
        Command that writes a bitstream, whose path follows.
    volatile : bool
        The bitstream is gone when the board loses its power.

    Raises
    ------
    ValueError
        When the family or a clock cannot be.
    """

    name: str
    title: str
    family: str
    device: str
    package: str
    speed: str = ""
    oscillator_mhz: float
    clock_mhz: float
    config: str
    baud: int = 1_000_000
    clock: Pin
    rx: Pin
    tx: Pin
    ready: Pin
    fault: Pin
    pll_pad: bool = False
    high: tuple[Pin, ...] = ()
    flash: tuple[str, ...]
    volatile: bool = False

    def __post_init__(self):
        if self.family not in FAMILIES:
            raise ValueError(f"family must be one of {', '.join(FAMILIES)}, not {self.family!r}")
        for field in ("oscillator_mhz", "clock_mhz"):
            if not 1 <= getattr(self, field) <= 400:
                raise ValueError(f"{field} must be from 1 to 400, not {getattr(self, field)}")

    @property
    def pins(self) -> dict[str, Pin]:
        """All pins by the name of the port of the top level that they belong to."""
        named = {name: getattr(self, name) for name in ("clock", "rx", "tx", "ready", "fault")}
        return named | {f"high_{index}": pin for index, pin in enumerate(self.high)}

    @property
    def bitstream_ending(self) -> str:
        """Ending of the file that is written to the board."""
        return FAMILIES[self.family]
