"""Every memory of every board is in the cells that it is meant for."""
import json

import pytest

from systolith.hw.boards.boards import BOARDS
from systolith.hw.boards.machine import machine_of
from systolith.hw.boards.top import TOP, BoardTop
from systolith.hw.compact.shared_ram import BANKS
from systolith.hw.configs import get_config
from systolith.hw.external_ram import ExternalRam
from systolith.hw.verilog import MemoryBlock, to_verilog
from systolith.sim.flow.board_netlist import board_netlist
from systolith.sim.flow.netlist import Netlist
from systolith.sim.flow.synthesis import memory_cells, synthesize
from systolith.sim.progress import Progress
from tests.sim.flow.memories import check_memories, intended

#: One board of each kind: of the others, only pins differ.
KINDS = {(board.config, board.ext_bytes(get_config(board.config)), board.sdram is None): name
         for name, board in reversed(BOARDS.items())}


def netlist_of(folder, top):
    return Netlist(json.loads((folder / "netlist.json").read_text()), top=top)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS.values())
def test_memories_of_a_board_are_where_they_are_meant_to_be(name):
    board = BOARDS[name]
    netlist = netlist_of(board_netlist(board, progress=Progress(quiet=True)), TOP)
    design = to_verilog(BoardTop(board=board, machine=machine_of(board)), name=TOP)
    parts = [f"machine.chip.core0.memories.shared.bank_{bank}" for bank in range(BANKS)]
    check_memories(board.family, netlist, design.memories,
                   parts if get_config(board.config).compact else ())


@pytest.mark.parametrize("family", ["ice40", "ecp5"])
def test_external_memory_is_block_ram(family, tmp_path):
    design = to_verilog(ExternalRam(bus_bytes=4, size=1 << 12), name="memory")
    (tmp_path / "memory.v").write_text(design.text)
    synthesize(family, folder=tmp_path, source="memory.v", top="memory")
    check_memories(family, netlist_of(tmp_path, "memory"), design.memories)


@pytest.mark.parametrize("family", ["ice40", "ecp5"])
def test_a_memory_in_flip_flops_is_noticed(family, tmp_path):
    """Read without a clock by two, and cleared."""
    (tmp_path / "wrong.v").write_text("""
        module wrong (input clock, clear, write, input [5:0] a, b, input [16:0] data,
                      output [16:0] q, r);
          reg [16:0] words [0:63];
          integer index;
          always @(posedge clock)
            if (clear) for (index = 0; index < 64; index = index + 1) words[index] <= 0;
            else if (write) words[a] <= data;
          assign q = words[a], r = words[b];
        endmodule""")
    synthesize(family, folder=tmp_path, source="wrong.v", top="wrong")
    netlist = netlist_of(tmp_path, "wrong")
    assert memory_cells(family, netlist) == {}
    with pytest.raises(AssertionError, match="words"):
        check_memories(family, netlist, [MemoryBlock("words", 64, 17, 2, 1)])


@pytest.mark.parametrize(("family", "depth", "width", "cells"), [
    ("ecp5", 1024, 32, ("bram", 2)), ("ecp5", 2048, 32, ("bram", 4)), ("ecp5", 64, 36, ("bram", 1)),
    ("ecp5", 512, 128, ("bram", 4)), ("ecp5", 32, 32, ("lutram", 16)), ("ice40", 8, 16, None),
    ("ice40", 512, 32, ("bram", 4)), ("ice40", 32, 128, ("bram", 8))])
def test_what_is_meant(family, depth, width, cells):
    assert intended(family, MemoryBlock("", depth, width, 1, 1)) == cells
