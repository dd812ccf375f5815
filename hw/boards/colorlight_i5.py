"""Colorlight i5 on the extension board of Muse Lab, whose bridge is programmer and UART."""
from systolith.hw.boards.board import Board
from systolith.hw.boards.pin import Pin

_PAD = ("IO_TYPE=LVCMOS33",)

COLORLIGHT_I5 = Board(
    name="colorlight-i5", title="Colorlight i5", family="ecp5", device="25k", package="CABGA381",
    speed="6", oscillator_mhz=25, clock_mhz=75, config="ecp5-25f",
    clock=Pin("P3", _PAD), rx=Pin("H18", _PAD), tx=Pin("J17", _PAD),
    # The module has one lamp; the other may be plugged into the extension board, connector P3.
    ready=Pin("U16", _PAD, inverted=True), fault=Pin("C17", _PAD),
    ram_bytes=1 << 14, flash=("openFPGALoader", "--board", "colorlight-i5"), volatile=True,
)
