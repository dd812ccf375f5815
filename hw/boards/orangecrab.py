"""OrangeCrab r0.2: ECP5 on a feather. The UART is on the pins 0 (in) and 1 (out) of its header."""
from systolith.hw.boards.board import Board
from systolith.hw.boards.pin import Pin

_PAD = ("IO_TYPE=LVCMOS33",)


def _orangecrab(size: int, *, config: str, clock_mhz: float, ram_bytes: int) -> Board:
    return Board(
        name=f"orangecrab-{size}f", title=f"OrangeCrab {size}F", family="ecp5",
        device=f"{size}k", package="CSFBGA285", speed="8",
        oscillator_mhz=48, clock_mhz=clock_mhz, config=config,
        clock=Pin("A9", _PAD), rx=Pin("N17", (*_PAD, "PULLMODE=UP")), tx=Pin("M18", _PAD),
        ready=Pin("M3", _PAD, inverted=True), fault=Pin("K4", _PAD, inverted=True),
        ram_bytes=ram_bytes,
        # The board's own bootloader takes the bitstream once the button is held at power-up.
        flash=("dfu-util", "--alt", "0", "--reset", "--download"),
    )


ORANGECRAB_25F = _orangecrab(25, config="ecp5-25f", clock_mhz=96, ram_bytes=1 << 14)
ORANGECRAB_85F = _orangecrab(85, config="ecp5-85f", clock_mhz=72, ram_bytes=1 << 16)
