"""The wires between an FPGA and an SDRAM chip, as plain data."""
from dataclasses import dataclass
from functools import cached_property

from systolith.hw.boards.pin import Pin
from systolith.hw.sdram.timing import SdramChip

#: Ports of the top level for the chip, but for the data, which go both ways.
SIGNALS = ("clock", "clock_enable", "select", "ras", "cas", "we", "bank", "address", "mask")
DATA = "sdram_data"


@dataclass(frozen=True, kw_only=True)
class SdramWires:
    """A chip of 16 bits and its pins; those of several bits start with the lowest.

    Parameters
    ----------
    chip : SdramChip
        Geometry and times.
    clock, clock_enable, select, ras, cas, we : Pin
        CLK, CKE, CS, RAS, CAS, WE.
    bank, address, mask, data : tuple of Pin
        BA, A, DQM, DQ.
    """

    chip: SdramChip
    clock: Pin
    clock_enable: Pin
    select: Pin
    ras: Pin
    cas: Pin
    we: Pin
    bank: tuple[Pin, ...]
    address: tuple[Pin, ...]
    mask: tuple[Pin, ...]
    data: tuple[Pin, ...]

    @cached_property
    def pins(self) -> dict[str, Pin]:
        """All pins by port of the top level, with the bit for ports that have several."""
        named = {}
        for signal in (*SIGNALS, "data"):
            wires = getattr(self, signal)
            if isinstance(wires, Pin):
                named[f"sdram_{signal}"] = wires
            else:
                named |= {f"sdram_{signal}[{bit}]": pin for bit, pin in enumerate(wires)}
        return named
