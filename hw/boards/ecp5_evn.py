"""ECP5 evaluation board of Lattice (LFE5UM5G-85F-EVN). Its UART needs two resistors moved."""
from systolith.hw.boards.board import Board
from systolith.hw.boards.pin import Pin

_PAD = ("IO_TYPE=LVCMOS33",)
#: The bank of the lamps has 2.5 V as delivered.
_LAMP = ("IO_TYPE=LVCMOS25",)

ECP5_EVN = Board(
    name="ecp5-evn", title="ECP5 evaluation board", family="ecp5", device="um5g-85k",
    package="CABGA381", speed="8", oscillator_mhz=12, clock_mhz=72, config="ecp5-85f",
    clock=Pin("A10", _PAD), rx=Pin("P2", (*_PAD, "PULLMODE=UP")), tx=Pin("P3", _PAD),
    ready=Pin("A13", _LAMP, inverted=True), fault=Pin("A12", _LAMP, inverted=True),
    ram_bytes=1 << 16, flash=("openFPGALoader", "--board", "ecp5_evn"), volatile=True,
)
