"""ULX3S: ECP5 with 12 to 85 thousand LUTs, USB bridge as programmer and UART, SDRAM of 32 MiB."""
from systolith.hw.boards.board import Board
from systolith.hw.boards.pin import Pin
from systolith.hw.boards.sdram_wires import SdramWires
from systolith.hw.sdram.timing import SdramChip

_PAD = ("IO_TYPE=LVCMOS33",)
_LAMP = (*_PAD, "DRIVE=4")
_FAST = (*_PAD, "PULLMODE=NONE", "DRIVE=4", "SLEWRATE=FAST")


def _pins(sites: str) -> tuple[Pin, ...]:
    return tuple(Pin(site, _FAST) for site in sites.split())


#: Boards come with chips of 32 and of 64 MiB from several makers; this is what all of them can do.
_SDRAM = SdramWires(
    chip=SdramChip(row_bits=13, column_bits=9),
    clock=Pin("F19", _FAST), clock_enable=Pin("F20", _FAST),
    select=Pin("P20", _FAST, inverted=True), ras=Pin("R20", _FAST, inverted=True),
    cas=Pin("T19", _FAST, inverted=True), we=Pin("T20", _FAST, inverted=True),
    bank=_pins("P19 N20"), mask=_pins("U19 E20"),
    address=_pins("M20 M19 L20 L19 K20 K19 K18 J20 J19 H20 N19 G20 G19"),
    data=_pins("J16 L18 M18 N18 P18 T18 T17 U20 E19 D20 D19 C20 E18 F18 J18 J17"),
)


def _ulx3s(size: int, *, config: str, clock_mhz: float) -> Board:
    return Board(
        name=f"ulx3s-{size}f", title=f"ULX3S {size}F", family="ecp5",
        device=f"{size}k", package="CABGA381", speed="6",
        oscillator_mhz=25, clock_mhz=clock_mhz, config=config,
        clock=Pin("G2", _PAD), rx=Pin("M1", _PAD), tx=Pin("L4", _PAD),
        ready=Pin("B2", _LAMP), fault=Pin("C2", _LAMP),
        sdram=_SDRAM, flash=("openFPGALoader", "--board", "ulx3s"), volatile=True,
    )


ULX3S_12F = _ulx3s(12, config="ecp5-25f", clock_mhz=75)
ULX3S_25F = _ulx3s(25, config="ecp5-25f", clock_mhz=75)
ULX3S_85F = _ulx3s(85, config="ecp5-85f", clock_mhz=60)
