"""iCEBreaker: iCE40 UP5K with a USB bridge that is programmer and UART."""
from systolith.hw.boards.board import Board
from systolith.hw.boards.pin import Pin

ICEBREAKER = Board(
    name="icebreaker", title="iCEBreaker", family="ice40", device="up5k", package="sg48",
    oscillator_mhz=12, clock_mhz=36, config="ice40up5k",
    pll_pad=True, clock=Pin("35"), rx=Pin("6", ("-pullup yes",)), tx=Pin("9"),
    ready=Pin("37", inverted=True), fault=Pin("11", inverted=True),
    flash=("iceprog",),
)
