"""The top level of a ULX3S, as it is synthesized, with its SDRAM chip: from the serial port to the
chip's pins. Every command to the chip is checked."""
import json

import pytest
from typer.testing import CliRunner

from systolith.hw.boards.boards import BOARDS
from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.frames import Space
from systolith.hw.isa import Control, Engine, Load, Register, Store
from systolith.sim.board import SimulatedTop
from systolith.sim.cli import app
from systolith.sim.rtl import RtlDevice
from systolith.sim.virtual_board import VirtualBoard
from systolith.sw.compiler import compile_product
from systolith.sw.estimate import external_memory
from systolith.sw.runtime.registers import status_mask
from systolith.sw.runtime.serial import SerialDevice
from tests.sim.board_wire import BoardDevice
from tests.sw.link_model import FaultyWire

BOARD = BOARDS["ulx3s-25f"]
CONFIG = get_config(BOARD.config)

#: How much the cycles of a run may differ from those with the simulated memory named `sdram`.
TOLERANCE = 0.03


@pytest.fixture(scope="module")
def board():
    with SimulatedTop(BOARD) as top:
        yield top


@pytest.fixture
def device(board):
    return SerialDevice(CONFIG, FaultyWire(BoardDevice(board), ()))


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_external_memory_is_the_sdram(device, board):
    assert device.size("ext") == BOARD.sdram.chip.size == CONFIG.ext_bytes
    ends = {0: b"first bytes.", CONFIG.ext_bytes - 8: b"the last"}
    for address, data in ends.items():
        device.write("ext", address, data)
    before = board.refreshes
    board.run(100_000)
    assert board.refreshes - before >= 100_000 / 40e6 * 8192 / 64e-3 - 1
    for address, data in ends.items():
        assert device.read("ext", address, len(data)) == data


@pytest.mark.slow
def test_a_reset_in_the_middle_of_a_load_loses_nothing(device, board):
    data = bytes(range(256)) * 8
    device.write("ext", 0, data)
    load = Load(region=Region.ACT, rows=1, row_bytes=len(data), ext_base=0, base=0)
    words = b"".join(word.to_bytes(4, "little") for word in load.encode() * 40)
    for cycles in range(3, 400, 37):
        device.link.write(CONFIG.host_address(Region.QUEUES, 4 * Engine.MOVE), words, Space.FIXED)
        device.write_register(Register.CONTROL, Control.RUN)
        board.run(cycles)
        assert not device.read_register(Register.STATUS) & status_mask("idle")
        device.reset()
        assert device.read("ext", 0, 64) == data[:64]
    assert compile_product(CONFIG, m=5, k=9, n=7).run(device).bit_exact


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loads", "stores", "both"])
def test_moves_take_as_long_as_with_the_simulated_memory(device, name):
    load = Load(region=Region.ACT, rows=16, row_bytes=256, ext_base=0, ext_stride=1152, base=0,
                stride=256)
    store = Store(region=Region.ACT, rows=1, row_bytes=4096, ext_base=1 << 20, base=0)
    moves = {"loads": [load] * 4, "stores": [store] * 4, "both": [load, store] * 4}[name]
    with RtlDevice(CONFIG, external=external_memory("sdram", CONFIG)) as simulated:
        cycles = []
        for each in (device, simulated):
            each.run({Engine.MOVE: moves})
            cycles.append(each.wait().cycles)
    assert cycles[0] == pytest.approx(cycles[1], rel=TOLERANCE)


@pytest.mark.slow
def test_it_is_in_good_health_and_multiplies(board, monkeypatch):
    monkeypatch.setattr("systolith.sim.march.SHORT_BYTES", 64)
    with VirtualBoard(board) as served:
        place = ("--config", BOARD.config, "--device", f"serial:{served.path}", "--json", "-")
        outcome = run("board-test", *place)
        assert outcome.exit_code == 0, outcome.output
        assert json.loads(outcome.stdout)["healthy"]
        outcome = run("run", "mathformer", "7*8=", *place)
        assert outcome.exit_code == 0, outcome.output
        assert "56" in outcome.stdout


@pytest.mark.slow
def test_a_whole_language_model_runs_from_the_sdram_of_an_85f():
    """All weights come from the chip for each token. Two minutes, most of them for the UART."""
    board = BOARDS["ulx3s-85f"]
    with SimulatedTop(board) as top, VirtualBoard(top) as served:
        outcome = run("run", "glassllm", "--prompt", "Alice was", "--tokens", "2", "--compare",
                      "--config", board.config, "--device", f"serial:{served.path}",
                      "--json", "-")
    assert outcome.exit_code == 0, outcome.output
    report = json.loads(outcome.stdout)
    assert report["bit_exact"]
    moved = report["decode"]["move_bytes"] / report["decode"]["cycles"]
    assert moved > 1.9, "bytes a cycle of the two that are possible"


@pytest.mark.parametrize(("arguments", "message"), [
    (("--board", "none"), "unknown board"), (("--gates",), "--gates goes with --board"),
    (("--board", "ulx3s-25f", "--ext-bytes", 4096), "--ext-bytes does not go with --board")])
def test_values_that_cannot_be_are_refused(arguments, message):
    outcome = run("virtual-board", *arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert "Traceback" not in outcome.output
