"""The simulated board in the place of the model of a device: every byte goes over its UART."""
from systolith.hw.configs import get_config
from systolith.sim.board import SimulatedBoard
from systolith.sw.runtime.serial import SerialDevice
from tests.sw.link_model import FaultyWire

CONFIG = get_config("tiny")
EXT_BYTES = 1 << 16
#: Cycles after which a board that has sent nothing will send nothing: more than the longest frame's
#: words take behind the link's port.
QUIET = 4000


class BoardDevice:
    """What :class:`~tests.sw.link_model.FaultyWire` asks of a device, done by a simulated board."""

    def __init__(self, board):
        self.board = board

    def feed(self, data):
        """The bytes that the board sends back."""
        self.board.send(data)
        came = b""
        while True:
            byte = self.board.run(QUIET, room=1)
            came += byte
            if not byte and not self.board.sending:
                return came


def simulated(**options):
    """The board of all these tests: `tiny` with 64 KiB of external memory, 4 cycles a bit."""
    return SimulatedBoard(CONFIG, clocks_per_bit=4, ext_bytes=EXT_BYTES, **options)


def serial_device(board, faults=(), config=CONFIG):
    """A serial device on a board, over a wire with faults."""
    return SerialDevice(config, FaultyWire(BoardDevice(board), faults))
