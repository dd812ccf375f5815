"""The controller of the SDRAM on real tools: its size by itself, and its clock with its pads."""
import json

import pytest
from amaranth import *
from amaranth.lib import wiring

from systolith.hw.boards.boards import BOARDS
from systolith.hw.boards.top import MACHINE, SDRAM
from systolith.hw.sdram.sdram import Sdram
from systolith.hw.verilog import to_verilog
from systolith.sim.flow import board_netlist, synthesis
from systolith.sim.flow import build as flow
from systolith.sim.flow.tools import warm
from systolith.sim.progress import Progress

BOARD = BOARDS["ulx3s-85f"]
#: What it was when it was measured, see docs/boards.md, and some room.
MOST_LUT, LEAST_MHZ = 900, 80


def controller():
    return Sdram(bus_bytes=4, chip=BOARD.sdram.chip, clock_hz=1e6 * BOARD.clock_mhz)


class Exerciser(wiring.Component):
    """A machine that only writes and reads the memory at random, everything from registers."""

    def __init__(self, board):
        super().__init__({**MACHINE, **SDRAM})

    def elaborate(self, platform):
        m = Module()
        m.submodules.sdram = sdram = controller()
        noise, seen = Signal(65, init=1), Signal(32)
        user = sdram.user
        m.d.sync += noise.eq(Cat(noise[64] ^ noise[46] ^ self.rx, noise[:-1]))
        with m.If(user.read.valid):
            m.d.sync += seen.eq(seen.rotate_left(1) ^ user.read.payload)
        with m.If(user.request.ready | ~user.request.valid):
            m.d.sync += [user.request.payload.eq(noise), user.request.valid.eq(noise[40])]
        with m.If(user.write.ready | ~user.write.valid):
            m.d.sync += [user.write.payload.eq(noise[:32]), user.write.valid.eq(noise[41])]
        m.d.sync += [user.read.ready.eq(noise[42]), self.tx.eq(seen[0])]
        m.d.comb += [self.pins.eq(sdram.pins), sdram.data.eq(self.data)]
        return m


@pytest.mark.slow
def test_the_controller_is_small(tmp_path):
    warm("ecp5", Progress(quiet=True))
    (tmp_path / "top.v").write_text(to_verilog(controller(), name="top").text)
    cells = synthesis.synthesize("ecp5", folder=tmp_path, source="top.v", top="top")
    assert cells["lut"] + 2 * cells["carry"] <= MOST_LUT
    assert cells["dsp"] == cells["bram"] == 0


@pytest.mark.slow
def test_the_controller_with_its_pads_meets_the_boards_clock(tmp_path, monkeypatch):
    monkeypatch.setenv("SYSTOLITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(board_netlist, "machine_of", lambda board, **_: Exerciser(board))
    built = flow.build(BOARD, seeds=[1], jobs=1, force=False, progress=Progress(quiet=True))
    report = json.loads((built.bitstream.parent / "report.json").read_text())
    assert report["mhz"] >= LEAST_MHZ
