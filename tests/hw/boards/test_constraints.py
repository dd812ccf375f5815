"""Every pin of every board against ``amaranth-boards``, which others have used on real boards."""
import re
from pathlib import Path

import pytest
from amaranth.build import Clock
from amaranth_boards.ecp5_5g_evn import ECP55GEVNPlatform
from amaranth_boards.icebreaker import ICEBreakerPlatform
from amaranth_boards.orangecrab_r0_2 import (
    OrangeCrabR0_2_25FPlatform,
    OrangeCrabR0_2_85FPlatform,
)
from amaranth_boards.ulx3s import ULX3S_12F_Platform, ULX3S_25F_Platform, ULX3S_85F_Platform
from amaranth_boards.upduino_v3 import UpduinoV3Platform

from systolith.hw.boards.boards import BOARDS
from systolith.hw.boards.constraints import constraints, file_name

FOLDER = Path(__file__).resolve().parents[3] / "constraints"

#: Platform, and the resource of each of our pins: name, number, and where needed the subsignal and
#: its bit.
#: A connector's pin is given by the connector's name, number and the pin's name on it.
ULX3S = {"clock": ("clk25", 0), "rx": ("uart", 0, "rx"), "tx": ("uart", 0, "tx"),
         "ready": ("led", 0), "fault": ("led", 1),
         **{f"sdram_{ours}": ("sdram", 0, theirs) for ours, theirs in (
             ("clock", "clk"), ("clock_enable", "clk_en"), ("select", "cs"), ("ras", "ras"),
             ("cas", "cas"), ("we", "we"))},
         **{f"sdram_{ours}[{bit}]": ("sdram", 0, theirs, bit) for ours, theirs, width in (
             ("bank", "ba", 2), ("address", "a", 13), ("mask", "dqm", 2), ("data", "dq", 16))
            for bit in range(width)}}
ORANGECRAB = {"clock": ("clk", 0), "rx": ("io", 0, "0"), "tx": ("io", 0, "1"),
              "ready": ("rgb_led", 0, "g"), "fault": ("rgb_led", 0, "r")}
PLATFORMS = {
    "icebreaker": (ICEBreakerPlatform, {
        "clock": ("clk12", 0), "rx": ("uart", 0, "rx"), "tx": ("uart", 0, "tx"),
        "ready": ("led_g", 0), "fault": ("led_r", 0)}),
    "upduino3": (UpduinoV3Platform, {
        "clock": ("clk12", 0), "rx": ("spi_flash_1x", 0, "clk"), "tx": ("spi_flash_1x", 0, "copi"),
        "ready": ("rgb_led", 0, "g"), "fault": ("rgb_led", 0, "r"),
        "high_0": ("spi_flash_1x", 0, "cs")}),
    "ulx3s-85f": (ULX3S_85F_Platform, ULX3S),
    "ulx3s-25f": (ULX3S_25F_Platform, ULX3S),
    "ulx3s-12f": (ULX3S_12F_Platform, ULX3S),
    "orangecrab-85f": (OrangeCrabR0_2_85FPlatform, ORANGECRAB),
    "orangecrab-25f": (OrangeCrabR0_2_25FPlatform, ORANGECRAB),
    "ecp5-evn": (ECP55GEVNPlatform, {
        "clock": ("clk12", 0), "rx": ("uart", 0, "rx"), "tx": ("uart", 0, "tx"),
        "ready": ("led", 0), "fault": ("led", 1)}),
}
#: ``amaranth-boards`` has none; pins from litex-boards, ``colorlight_i5.py``.
COLORLIGHT_I5 = {"clock": "P3", "rx": "H18", "tx": "J17", "ready": "U16", "fault": "C17"}
PACKAGES = {"BG381": "CABGA381", "MG285": "CSFBGA285", "SG48": "sg48"}


def their_pin(platform, place):
    """Site of a pin, whether it is active low, and its clock in Hz, as the platform says."""
    name, number, *part = place
    for connector in platform.connectors:
        if (connector.name, connector.number) == (name, number):
            return connector.mapping[part[0]], False, None
    resource = next(each for each in platform.resources
                    if (each.name, each.number) == (name, number))
    signal = next(each for each in resource.ios if each.name == part[0]) if part else resource
    pins = next(each for each in signal.ios if hasattr(each, "names"))
    clock = next((each.frequency for each in (resource.clock, ) if each), None) if isinstance(
        resource.clock, Clock) else None
    return pins.names[part[1] if len(part) > 1 else 0], pins.invert, clock


@pytest.mark.parametrize("name", PLATFORMS)
def test_pins_are_those_of_amaranth_boards(name):
    platform, places = PLATFORMS[name]
    board = BOARDS[name]
    assert board.pins.keys() == places.keys()
    for port, pin in board.pins.items():
        site, inverted, clock = their_pin(platform, places[port])
        assert pin.site == site, port
        # A selection that is active low is held high; there it is our level that counts.
        assert pin.inverted == (inverted and not port.startswith("high")), port
        assert port != "clock" or clock == 1e6 * board.oscillator_mhz


@pytest.mark.parametrize("name", PLATFORMS)
def test_devices_are_those_of_amaranth_boards(name):
    platform, board = PLATFORMS[name][0], BOARDS[name]
    assert board.package == PACKAGES[platform.package]
    assert board.speed == getattr(platform, "speed", "")
    device = platform.device.lower()
    size = re.fullmatch(r"(?:lfe5(um5g-|u-))?(?:ice40)?(\w+)", device)
    expected = {"um5g-": "um5g-"}.get(size[1], "") + re.sub(r"f$", "k", size[2])
    assert board.device == expected


def test_the_colorlight_i5():
    board = BOARDS["colorlight-i5"]
    assert {port: pin.site for port, pin in board.pins.items()} == COLORLIGHT_I5
    assert (board.device, board.package, board.speed) == ("25k", "CABGA381", "6")


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_files_are_up_to_date(board):
    assert (FOLDER / file_name(board)).read_text() == constraints(board), "run `make docs`"


def test_the_tools_can_be_told_a_faster_oscillator():
    board = BOARDS["ulx3s-85f"]
    told, plain = (constraints(board, aim=aim).splitlines() for aim in (3, 1))
    changed = [pair for pair in zip(told, plain, strict=True) if pair[0] != pair[1]]
    assert changed == [('FREQUENCY PORT "clock" 75 MHZ;', 'FREQUENCY PORT "clock" 25 MHZ;')]


def test_no_other_files():
    assert {path.name for path in FOLDER.iterdir()} == {file_name(b) for b in BOARDS.values()}


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_no_pin_is_used_twice(board):
    sites = [pin.site for pin in board.pins.values()]
    assert len(set(sites)) == len(sites)
