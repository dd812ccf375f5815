"""ULX3S: ECP5 with 12 to 85 thousand LUTs, USB bridge as programmer and UART, SDRAM of 32 MiB."""
from systolith.hw.boards.board import Board, Pin

_PAD = ("IO_TYPE=LVCMOS33",)
_LAMP = (*_PAD, "DRIVE=4")


def _ulx3s(size: int, *, config: str, clock_mhz: float) -> Board:
    return Board(
        name=f"ulx3s-{size}f", title=f"ULX3S {size}F", family="ecp5",
        device=f"{size}k", package="CABGA381", speed="6",
        oscillator_mhz=25, clock_mhz=clock_mhz, config=config,
        clock=Pin("G2", _PAD), rx=Pin("M1", _PAD), tx=Pin("L4", _PAD),
        ready=Pin("B2", _LAMP), fault=Pin("C2", _LAMP),
        flash=("openFPGALoader", "--board", "ulx3s"), volatile=True,
    )


ULX3S_12F = _ulx3s(12, config="ecp5-25f", clock_mhz=40)
ULX3S_25F = _ulx3s(25, config="ecp5-25f", clock_mhz=40)
ULX3S_85F = _ulx3s(85, config="ecp5-85f", clock_mhz=40)
