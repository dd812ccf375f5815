"""The whole flow, with a small machine on real tools, and what it refuses."""
import json

import pytest
from typer.testing import CliRunner

from systolith.hw.boards.boards import BOARDS
from systolith.sim.cli import app
from systolith.sim.flow import board_netlist
from systolith.sim.flow import build as flow
from systolith.sim.flow.tools import FlowError
from systolith.sim.progress import Progress
from tests.hw.boards.test_top import Echo


def with_clock(board, mhz):
    return type(board)(**{**vars(board), "clock_mhz": mhz})


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache of these tests alone: a user's must not hold their machine as that of a board."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _small(cache, tmp_path, monkeypatch):
    """A machine that is built in seconds, in a folder of its own."""
    monkeypatch.setenv("SYSTOLITH_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(board_netlist, "machine_of", lambda board, **_: Echo(board))


def build(board, **options):
    return flow.build(board, **{"seeds": [1, 2], "jobs": 2, "force": False} | options,
                      progress=Progress(quiet=True))


@pytest.mark.parametrize("name", [
    "icebreaker", *(pytest.param(name, marks=pytest.mark.slow) for name in BOARDS
                    if name != "icebreaker")])
def test_a_small_machine_is_built_for_every_board(name):
    built = build(BOARDS[name])
    assert built.bitstream.stat().st_size > 10_000
    report = json.loads((built.bitstream.parent / "report.json").read_text())
    assert report["met"]
    assert report["mhz"] == max(report["mhz_by_seed"].values()) >= report["mhz_required"]
    assert report["mhz_by_seed"].keys() == {"1", "2"}
    # Boards with an SDRAM keep what wakes and refreshes it.
    assert 0 < report["ff"] < (200 if BOARDS[name].sdram else 100)
    assert report["dsp"] == report["bram"] == 0


def test_a_bitstream_that_misses_its_timing_is_written_only_by_force():
    """The counter of the reset is too slow for the highest clock of this PLL."""
    board = with_clock(BOARDS["icebreaker"], 135)
    with pytest.raises(FlowError, match=r"must reach 135 MHz; seeds tried: 1 \(\d+\.\d MHz\), 2 \("
                                        r".*Slowest path of seed \d: \w.*--force"):
        build(board)
    assert not flow.bitstream_path(board).exists()
    built = build(board, force=True)
    assert built.bitstream.exists()
    assert built.report["met"] is False


def test_a_second_build_runs_no_tool(monkeypatch):
    first = build(BOARDS["icebreaker"])
    ran = []
    run = flow.find_tool("icepack").__class__.run
    monkeypatch.setattr("systolith.sim.flow.tools.FlowTool.run", lambda tool, *arguments, folder: (
        ran.append(tool.name), run(tool, *arguments, folder=folder)))
    assert build(BOARDS["icebreaker"]).report["mhz"] == first.report["mhz"]
    assert ran == ["icepack"]


def test_the_boards_are_listed_with_what_was_built():
    def listed():
        result = CliRunner().invoke(app, ["boards", "--json", "-"])
        return {each["board"]: each for each in json.loads(result.stdout)["boards"]}

    before = listed()
    assert before.keys() == BOARDS.keys()
    assert before["icebreaker"]["mhz"] is None
    assert not before["icebreaker"]["built"]
    built = build(BOARDS["icebreaker"])
    after = listed()["icebreaker"]
    assert after == {
        "board": "icebreaker", "config": "ice40up5k", "mhz_required": 36, "macs_per_cycle": 16,
        "built": True, **{name: built.report[name] for name in ("lut", "ff", "dsp", "bram", "mhz")}}


def test_flash_says_what_is_missing(monkeypatch):
    result = CliRunner().invoke(app, ["flash", "icebreaker"])
    assert result.exit_code == 1
    assert "run `systolith bitstream icebreaker` first" in result.output
    build(BOARDS["icebreaker"])
    monkeypatch.setenv("PATH", "")
    result = CliRunner().invoke(app, ["flash", "icebreaker"])
    assert result.exit_code == 1
    assert "iceprog is not on PATH" in result.output
    assert "apt-get install fpga-icestorm" in result.output


def test_an_unknown_board_is_refused():
    result = CliRunner().invoke(app, ["bitstream", "nexys"])
    assert result.exit_code == 2
    assert "unknown board 'nexys'; choose one of icebreaker," in result.output
