"""The top level of a board around a small machine."""
import re

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.boards.boards import BOARDS
from systolith.hw.boards.reset import PowerOnReset
from systolith.hw.boards.top import TOP, BoardTop
from systolith.hw.verilog import to_verilog


class Echo(wiring.Component):
    """Sends what it receives, one cycle late."""

    def __init__(self):
        super().__init__({"rx": In(1), "tx": Out(1, init=1), "fault": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.tx.eq(self.rx)
        return m


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_ports_are_the_pins(board):
    design = to_verilog(BoardTop(board=board, machine=Echo()), name=TOP)
    assert {port.name for port in design.ports} == set(board.pins)
    assert all(port.width == 1 for port in design.ports)
    assert {port.name for port in design.ports if port.direction == "input"} == {"clock", "rx"}


@pytest.mark.parametrize(("name", "primitive", "divider"), [
    ("icebreaker", "SB_PLL40_PAD", ".DIVQ(3'h5)"), ("upduino3", "SB_PLL40_CORE", ".DIVQ(3'h5)"),
    ("ulx3s-85f", "EHXPLLL", ".CLKI_DIV(5)")])
def test_the_pll_is_in_the_verilog(name, primitive, divider):
    text = to_verilog(BoardTop(board=BOARDS[name], machine=Echo()), name=TOP).text
    assert len(re.findall(rf"^  {primitive} ", text, re.MULTILINE)) == 1
    assert divider in text.replace("32'd", "").replace("32'sd", "")


def test_lamps_follow_the_board():
    """One board lights a lamp with a low level, the other with a high one."""
    for name, expression in (("icebreaker", "assign fault = 1'h1;"), ("ulx3s-85f", "assign fault")):
        text = to_verilog(BoardTop(board=BOARDS[name], machine=Echo()), name=TOP).text
        assert expression in text


@pytest.mark.parametrize(("argument", "message"), [
    ({"board": "icebreaker"}, "board must be a Board"),
    ({"machine": PowerOnReset()}, "machine must have a member rx: In")])
def test_wrong_parameters_are_refused(argument, message):
    with pytest.raises(TypeError, match=message):
        BoardTop(**{"board": BOARDS["icebreaker"], "machine": Echo()} | argument)
