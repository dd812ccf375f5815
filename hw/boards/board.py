"""What the flow needs to know of a board, as plain data."""
from dataclasses import dataclass

from systolith.hw.boards.pin import Pin
from systolith.hw.boards.sdram_wires import SdramWires
from systolith.hw.config import Config
from systolith.hw.frames import DEFAULT_BAUD

#: How a family is written to a board, and the ending of its bitstream.
FAMILIES = {"ice40": "bin", "ecp5": "bit"}


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
    sdram : SdramWires, optional
        The chip that serves as external memory.
    ram_bytes : int, optional
        Without a chip: bytes of block RAM that serve as external memory, by default as many as
        the configuration can address.
    flash : tuple of str
        Command that writes a bitstream, whose path follows.
    volatile : bool
        The bitstream is gone when the board loses its power.

    Raises
    ------
    ValueError
        When the family or a clock cannot be, or a chip and block RAM are given.
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
    baud: int = DEFAULT_BAUD
    clock: Pin
    rx: Pin
    tx: Pin
    ready: Pin
    fault: Pin
    pll_pad: bool = False
    high: tuple[Pin, ...] = ()
    sdram: SdramWires | None = None
    ram_bytes: int | None = None
    flash: tuple[str, ...]
    volatile: bool = False

    def __post_init__(self):
        if self.family not in FAMILIES:
            raise ValueError(f"family must be one of {', '.join(FAMILIES)}, not {self.family!r}")
        for field in ("oscillator_mhz", "clock_mhz"):
            if not 1 <= getattr(self, field) <= 400:
                raise ValueError(f"{field} must be from 1 to 400, not {getattr(self, field)}")

        if self.sdram and (self.ram_bytes is not None or self.family != "ecp5"):
            raise ValueError("sdram is for boards with an ECP5 and without ram_bytes")

    def ext_bytes(self, config: Config) -> int:
        """Bytes of external memory."""
        if self.sdram:
            return min(self.sdram.chip.size, config.ext_bytes)
        return config.ext_bytes if self.ram_bytes is None else self.ram_bytes

    @property
    def pins(self) -> dict[str, Pin]:
        """All pins by the name of the port of the top level that they belong to, with the bit for
        ports that have several."""
        named = {name: getattr(self, name) for name in ("clock", "rx", "tx", "ready", "fault")}
        named |= {f"high_{index}": pin for index, pin in enumerate(self.high)}
        return named | (self.sdram.pins if self.sdram else {})

    @property
    def bitstream_ending(self) -> str:
        """Ending of the file that is written to the board."""
        return FAMILIES[self.family]
