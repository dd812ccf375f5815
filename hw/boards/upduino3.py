"""UPduino 3: iCE40 UP5K. Its oscillator reaches pin 20 once the jumper OSC is soldered."""
from systolith.hw.boards.board import Board
from systolith.hw.boards.pin import Pin

UPDUINO3 = Board(
    name="upduino3", title="UPduino 3", family="ice40", device="up5k", package="sg48",
    # The inner oscillator would need no jumper, but is off by up to 10 %: too much for a UART.
    oscillator_mhz=12, clock_mhz=36, config="ice40up5k",
    clock=Pin("20"), rx=Pin("15", ("-pullup yes",)), tx=Pin("14"),
    ready=Pin("39", inverted=True), fault=Pin("41", inverted=True),
    # The UART shares its wires with the flash, which must not answer.
    high=(Pin("16"),),
    flash=("iceprog",),
)
