# amaranth: UnusedElaboratable=no
"""The top level of a board around a small machine."""
import re

import pytest
from amaranth import Module
from amaranth.lib import wiring

from systolith.hw.boards.boards import BOARDS
from systolith.hw.boards.reset import PowerOnReset
from systolith.hw.boards.top import MACHINE, SDRAM, TOP, BoardTop
from systolith.hw.verilog import to_verilog


class Echo(wiring.Component):
    """Sends what it receives, one cycle late; and the same with the wires of an SDRAM."""

    def __init__(self, board):
        super().__init__({**MACHINE, **(SDRAM if board.sdram else {})})
        self._board = board

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.tx.eq(self.rx)
        if self._board.sdram:
            m.d.sync += [self.pins.data.eq(self.data), self.pins.drive.eq(self.rx)]
        return m


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_ports_are_the_pins(board):
    design = to_verilog(BoardTop(board=board, machine=Echo(board)), name=TOP)
    names = [name for port in design.ports for name in (
        [port.name] if port.name in board.pins
        else [f"{port.name}[{bit}]" for bit in range(port.width)])]
    assert sorted(names) == sorted(board.pins)
    directions = {port.name: port.direction for port in design.ports if port.direction != "output"}
    assert directions == {"clock": "input", "rx": "input"} | (
        {"sdram_data": "inout"} if board.sdram else {})


@pytest.mark.parametrize(("name", "primitive", "divider"), [
    ("icebreaker", "SB_PLL40_PAD", ".DIVQ(3'h4)"), ("upduino3", "SB_PLL40_CORE", ".DIVQ(3'h4)"),
    ("ulx3s-85f", "EHXPLLL", ".CLKI_DIV(5)")])
def test_the_pll_is_in_the_verilog(name, primitive, divider):
    text = to_verilog(BoardTop(board=BOARDS[name], machine=Echo(BOARDS[name])), name=TOP).text
    assert len(re.findall(rf"^  {primitive} ", text, re.MULTILINE)) == 1
    assert divider in text.replace("32'd", "").replace("32'sd", "")


def test_lamps_follow_the_board():
    """One board lights a lamp with a low level, the other with a high one."""
    for name, expression in (("icebreaker", "assign fault = 1'h1;"), ("ulx3s-85f", "assign fault")):
        text = to_verilog(BoardTop(board=BOARDS[name], machine=Echo(BOARDS[name])), name=TOP).text
        assert expression in text


@pytest.mark.parametrize(("argument", "message"), [
    ({"board": "icebreaker"}, "board must be a Board"),
    ({"machine": PowerOnReset()}, "machine must have a member rx: In"),
    ({"board": BOARDS["ulx3s-85f"]}, "machine must have a member pins: Out")])
def test_wrong_parameters_are_refused(argument, message):
    board = BOARDS["icebreaker"]
    with pytest.raises(TypeError, match=message):
        BoardTop(**{"board": board, "machine": Echo(board)} | argument)


def test_every_wire_of_an_sdram_has_its_registers():
    board = BOARDS["ulx3s-85f"]
    text = to_verilog(BoardTop(board=board, machine=Echo(board)), name=TOP).text
    outputs = len(board.sdram.pins) - len(("clock", "select"))
    counts = {cell: len(re.findall(rf"^  {cell} ", text, re.MULTILINE))
              for cell in ("OFS1P3DX", "IFS1P3DX", "BB", "ODDRX1F")}
    assert counts == {"OFS1P3DX": outputs + 16, "IFS1P3DX": 16, "BB": 16, "ODDRX1F": 1}
