"""The virtual board at its pseudo-terminal, from serial port to RTL, and its hosts' mistakes."""
import json
import os

import pytest
from typer.testing import CliRunner

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.frames import DEFAULT_BAUD, FLAG, Operation
from systolith.sim.board import SimulatedBoard
from systolith.sim.cli import app
from systolith.sim.virtual_board import VirtualBoard
from systolith.sw.compiler import compile_product
from systolith.sw.runtime.frames import RequestFrame
from systolith.sw.runtime.link import LinkError
from systolith.sw.runtime.port import Port, SerialWire
from systolith.sw.runtime.serial import SerialDevice
from tests.sim.board_wire import CONFIG, simulated

#: A pseudo-terminal has none, but a port has.
BAUD = DEFAULT_BAUD


@pytest.fixture
def path():
    """The pseudo-terminal of a board that is switched on."""
    with simulated() as board, VirtualBoard(board) as served:
        yield served.path


def host(path):
    return SerialDevice(CONFIG, SerialWire(Port(path, BAUD)), baud=BAUD)


def check_usable(path):
    with host(path) as device:
        assert compile_product(CONFIG, m=5, k=9, n=7).run(device).bit_exact


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_mathformer_multiplies_on_it(path):
    outcome = run("run", "mathformer", "7*8=", "--config", "tiny", "--device", f"serial:{path}",
                  "--json", "-")
    assert outcome.exit_code == 0, outcome.output
    assert "56" in outcome.stdout


def test_it_is_in_good_health(path, monkeypatch):
    # Fewer bytes of each memory: the line is simulated bit by bit.
    monkeypatch.setattr("systolith.sim.march.SHORT_BYTES", 64)
    outcome = run("board-test", "--config", "tiny", "--device", f"serial:{path}@{BAUD}",
                  "--json", "-")
    assert outcome.exit_code == 0, outcome.output
    report = json.loads(outcome.stdout)
    assert report["healthy"]
    assert all(check["passed"] for check in report["checks"])
    assert report["checks"][0]["frames"] == 64


def test_a_compact_core_is_in_good_health_and_answers(monkeypatch):
    """Its external memory is inside, and its vector unit is microcode."""
    monkeypatch.setattr("systolith.sim.march.SHORT_BYTES", 32)
    with SimulatedBoard(get_config("ice40up5k")) as board, VirtualBoard(board) as served:
        device = ("--config", "ice40up5k", "--device", f"serial:{served.path}@{BAUD}",
                  "--json", "-")
        health = run("board-test", *device)
        answer = run("run", "mathformer", "7*8=", *device)
    assert health.exit_code == 0, health.output
    checks = {check["name"]: check for check in json.loads(health.stdout)["checks"]}
    assert all(check["passed"] for check in checks.values())
    assert checks["attention layer"]["bit_exact"]
    assert checks["memory ext"]["tested_bytes"] > 0
    assert answer.exit_code == 0, answer.output
    assert "56" in answer.stdout


def test_the_external_memory_of_a_compact_core_has_one_size():
    outcome = run("virtual-board", "--config", "ice40up5k", "--ext-bytes", 4096)
    assert outcome.exit_code == 2
    assert "inside its core: leave --ext-bytes out, or say 32768" in outcome.output


def test_hosts_come_and_go(path):
    for value in range(3):
        with host(path) as device:
            device.write(Region.ACT, 4 * value, bytes([value] * 4))
    with host(path) as device:
        assert device.read(Region.ACT, 0, 12) == b"\0\0\0\0\1\1\1\1\2\2\2\2"


@pytest.mark.parametrize("length", [1, 2, 9, 21])
def test_a_host_that_died_in_a_frame_does_no_harm(path, length):
    frame = RequestFrame(operation=Operation.WRITE, sequence=1, session=1, words=2,
                         data=b"\x7e\x7dno data").encode()
    wire = SerialWire(Port(path, BAUD))
    wire.write(frame[:length])
    wire.close()
    check_usable(path)


def test_a_host_that_never_reads_does_no_harm(path):
    """Answers find no room after some time; the board goes on as a UART does."""
    echo = RequestFrame(operation=Operation.HELLO, sequence=0, session=9)
    wire = SerialWire(Port(path, BAUD))
    for _ in range(300):
        wire.write(echo.encode())
    wire.close()
    check_usable(path)


def test_noise_does_no_harm(path):
    wire = SerialWire(Port(path, BAUD))
    wire.write(bytes([FLAG, 0x7D, FLAG]) + os.urandom(2000))
    wire.close()
    check_usable(path)


def test_a_second_program_is_refused_and_the_first_goes_on(path):
    with host(path) as device:
        with pytest.raises(LinkError, match=f"cannot open serial port {path}: another program"):
            host(path)
        outcome = run("board-test", "--config", "tiny", "--device", f"serial:{path}")
        assert outcome.exit_code == 1
        assert "another program uses it" in outcome.stderr
        device.write(Region.ACT, 0, b"mine")
        assert device.read(Region.ACT, 0, 4) == b"mine"


def test_a_board_that_is_switched_off_is_gone():
    with simulated() as board, VirtualBoard(board) as served:
        device = host(served.path)
        served.close()
        with pytest.raises(LinkError, match=r"is gone|takes no more bytes|not answer any more"):
            device.write(Region.ACT, 0, b"lost")
        device.close()


def test_another_configuration_is_told_on_the_command_line(path):
    outcome = run("board-test", "--config", "tall", "--device", f"serial:{path}")
    assert outcome.exit_code == 1
    assert "which is 'tiny', but 'tall'" in outcome.stderr
    check_usable(path)


def test_a_port_that_is_none_is_told(tmp_path):
    missing = run("board-test", "--device", f"serial:{tmp_path / 'ttyNone'}")
    assert missing.exit_code == 1
    assert "there is no such port; is the board plugged in?" in missing.stderr
    (tmp_path / "file").write_text("no terminal")
    plain = run("board-test", "--device", f"serial:{tmp_path / 'file'}")
    assert plain.exit_code == 1
    assert "cannot open serial port" in plain.stderr


@pytest.mark.parametrize(("arguments", "message"), [
    (("--ext-bytes", 5), "--ext-bytes must be a power of two from 8 to the 16777216"),
    (("--ext-bytes", 0), "not 0"), (("--ext-bytes", -4), "not -4"),
    (("--ext-bytes", 1 << 40), f"not {1 << 40}"),
    (("--clocks-per-bit", 7000), "choose a lower --clocks-per-bit"),
    (("--config", "none"), "none")])
def test_values_that_cannot_be_are_refused(arguments, message):
    outcome = run("virtual-board", *arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert "Traceback" not in outcome.output
