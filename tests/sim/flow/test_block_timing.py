"""A block by itself on real tools, and what the command refuses."""
import pytest

from systolith.hw.boards.boards import BOARDS
from systolith.hw.configs import get_config
from systolith.hw.verilog import to_verilog
from systolith.sim.flow.alone import TOP, Alone
from systolith.sim.flow.blocks import BLOCKS
from tests.sim.cli.invoke import check_refused, result_of, systolith


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SYSTOLITH_CACHE", str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("board", ["icebreaker", "ulx3s-85f"])
def test_a_bus_by_itself(board):
    result = result_of("timing", board, "bus", "--seeds", "2")
    assert (result["board"], result["block"]) == (board, "bus")
    assert result["config"] == BOARDS[board].config
    # Registers of its ports, those of the bus itself are few.
    assert result["ff"] > 600
    assert result["bram"] == result["dsp"] == 0
    assert result["mhz"] == max(result["mhz_by_seed"].values()) > 50
    assert result["mhz_by_seed"].keys() == {"1", "2"}
    assert "ns, of these" in result["path"]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_stands_alone(block):
    text = to_verilog(Alone(block=BLOCKS[block](get_config("tiny"))), name=TOP).text
    assert f"module {TOP}(" in text


def test_an_unknown_block_is_refused():
    check_refused(systolith("timing", "ulx3s-85f", "multiplier"), 1,
                  "unknown block 'multiplier'; choose one of array, matrix,")


def test_an_unknown_board_is_refused():
    check_refused(systolith("timing", "nexys", "array"), 2, "unknown board 'nexys'")
