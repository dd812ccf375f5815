# amaranth: UnusedElaboratable=no
"""The dividers of the PLLs against the vendors' ranges and the tools of the open flow."""
import re

import pytest

from systolith.hw.boards.boards import BOARDS
from systolith.hw.boards.pll import Pll, dividers
from systolith.hw.config import ConfigError
from systolith.hw.verilog import to_verilog
from systolith.sim.flow.tools import find_tool


def replace(board, **changes):
    return type(board)(**{**vars(board), **changes})


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_the_clock_is_the_one_asked_for(board):
    found = dividers(board)
    mhz = board.oscillator_mhz / found.reference * found.feedback
    inner = {"ice40": mhz, "ecp5": mhz * found.output}[board.family]
    low, high = {"ice40": (533, 1066), "ecp5": (400, 800)}[board.family]
    assert low <= inner <= high
    assert found.mhz == (mhz / found.output if board.family == "ice40" else mhz)
    assert found.mhz == pytest.approx(board.clock_mhz, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("mhz", [24, 36, 48])
def test_icepll_finds_the_same(tmp_path, mhz):
    printed = find_tool("icepll").run("-i", "12", "-o", str(mhz), folder=tmp_path)
    divr, divf, divq = (int(re.search(rf"{name}: +(\d+)", printed)[1])
                        for name in ("DIVR", "DIVF", "DIVQ"))
    theirs = 12 / (divr + 1) * (divf + 1) / 2**divq
    assert dividers(replace(BOARDS["icebreaker"], clock_mhz=mhz)).mhz == pytest.approx(theirs)


def test_a_clock_that_cannot_be_made_is_refused():
    with pytest.raises(ConfigError, match=r"cannot make 1\.3 MHz out of 12: the nearest is"):
        dividers(replace(BOARDS["icebreaker"], clock_mhz=1.3))


@pytest.mark.parametrize("board", [board for board in BOARDS.values() if board.sdram],
                         ids=lambda board: board.name)
def test_the_clock_of_an_sdram_is_as_late_as_its_timing_asks(board):
    text = to_verilog(Pll(board=board), name="pll").text
    value = {name: int(number) for name, number in
             re.findall(r"\.(CLKO\w+)\(32'd(\d+)\)", text)}
    late = (value["CLKOS_CPHASE"] - value["CLKOP_CPHASE"] + value["CLKOS_FPHASE"] / 8
            ) / value["CLKOS_DIV"]
    # The pad inverts it.
    quarters = board.sdram.chip.timing.clocking(dividers(board).mhz * 1e6).quarters
    assert (late + 0.5) % 1 == quarters / 4
