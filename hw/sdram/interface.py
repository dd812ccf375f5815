"""What goes between the parts of the controller, and to the chip."""
from amaranth.lib import data, enum

from systolith.hw.sdram.timing import BANKS, WORD_BITS

BANK_BITS = (BANKS - 1).bit_length()

#: Address wires, and the one that tells a precharge of all banks.
ADDRESS_WIRES = 13
ALL_BANKS = 1 << 10


class Command(enum.Enum, shape=3):
    """Commands of the chip: WE, CAS and RAS, the lowest bit first; one means active."""

    NONE = 0b000
    ACTIVATE = 0b100
    READ = 0b010
    WRITE = 0b011
    PRECHARGE = 0b101
    REFRESH = 0b110
    MODE = 0b111


class SdramAccess(data.StructLayout):
    """A beat to read or write: its bank, row, first column, and direction."""

    def __init__(self, chip):
        super().__init__({"column": chip.column_bits, "bank": BANK_BITS, "row": chip.row_bits,
                          "write": 1})


class RowCommand(data.StructLayout):
    """A command with its bank and its address wires."""

    def __init__(self):
        super().__init__({"command": Command, "bank": BANK_BITS, "address": ADDRESS_WIRES})


class SdramPins(data.StructLayout):
    """All that goes to the chip but clock and clock enable, which is always on.

    ``mask`` hides the data (LDQM and UDQM, which are the same: the port of external memory has
    whole beats only), ``drive`` says that the FPGA drives the data wires. One means active: a board
    inverts what its chip wants low.
    """

    def __init__(self):
        super().__init__({"command": Command, "bank": BANK_BITS, "address": ADDRESS_WIRES,
                          "mask": 1, "data": WORD_BITS, "drive": 1})
