"""Boards at gate level: their netlists answer as their sources do, in the same cycles."""

import pytest

from systolith.hw.boards.boards import BOARDS
from systolith.hw.configs import get_config
from systolith.sim.board import SimulatedTop
from systolith.sim.flow import board_netlist
from systolith.sw.compiler import compile_product
from systolith.sw.runtime.serial import SerialDevice
from tests.hw.boards.test_top import Echo
from tests.sim.board_wire import BoardDevice
from tests.sw.link_model import FaultyWire


@pytest.mark.parametrize("name", [
    "icebreaker", pytest.param("orangecrab-25f", marks=pytest.mark.slow)])
def test_a_small_machine_answers_at_gate_level(name, tmp_path, monkeypatch):
    """In a cache of its own: a user's must not hold this machine as that of a board."""
    monkeypatch.setenv("SYSTOLITH_CACHE", str(tmp_path))
    monkeypatch.setattr(board_netlist, "machine_of", lambda board, **_: Echo(board))
    data = bytes(range(0, 256, 7))
    with SimulatedTop(BOARDS[name], clocks_per_bit=12, gates=True) as top:
        top.send(data)
        assert top.run(12 * 10 * (len(data) + 2)) == data


class Recorder(BoardDevice):
    """Keeps what the host sent, what came back, and the board's cycles then."""

    def __init__(self, board):
        super().__init__(board)
        self.record = []

    def feed(self, data):
        came = super().feed(data)
        self.record.append((data, came, self.board.cycles))
        return came


@pytest.mark.slow
@pytest.mark.parametrize("name", ["icebreaker", "ulx3s-25f"])
def test_a_product_is_the_same_in_every_cycle(name):
    """The source's host is an ordinary one; the netlist gets the same bytes in the same cycles."""
    board = BOARDS[name]
    config = get_config(board.config)
    with SimulatedTop(board) as source:
        recorder = Recorder(source)
        device = SerialDevice(config, FaultyWire(recorder, ()))
        assert compile_product(config, m=5, k=9, n=7).run(device).bit_exact
    with SimulatedTop(board, gates=True) as netlist:
        replay = Recorder(netlist)
        for data, _, _ in recorder.record:
            replay.feed(data)
    assert replay.record == recorder.record
