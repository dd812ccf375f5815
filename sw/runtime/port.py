"""Serial ports: their names, and the wire that one is."""
import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import serial

from systolith.hw.frames import DEFAULT_BAUD
from systolith.sw.runtime.link import LinkError

#: How the command line names a serial device: this, the port, and perhaps ``@`` and the baud rate.
PREFIX = "serial:"

#: Seconds after which a port that takes no bytes is given up.
WRITE_TIMEOUT = 5.0


class Port(NamedTuple):
    """A serial port and its bits a second."""

    path: str
    baud: int


def parse_port(name: str) -> Port:
    """The port that ``serial:PATH`` or ``serial:PATH@BAUD`` names.

    Raises
    ------
    ValueError
        When there is no path or the baud rate is no positive integer.
    """
    path, at, baud = name.removeprefix(PREFIX).rpartition("@")
    if not at:
        path, baud = baud, str(DEFAULT_BAUD)
    if not path or not baud.isdecimal() or int(baud) == 0:
        raise ValueError(f"{name!r} names no serial port; write for example "
                         f"{PREFIX}/dev/ttyUSB1 or {PREFIX}/dev/ttyUSB1@{DEFAULT_BAUD}")
    return Port(path, int(baud))


class SerialWire:
    """A serial port of this computer, which no other program can open meanwhile.

    Raises
    ------
    LinkError
        When the port cannot be opened; and from all methods when it is gone.
    """

    def __init__(self, port: Port):
        self.name = port.path
        try:
            self._port = serial.Serial(port.path, port.baud, exclusive=True,
                                       write_timeout=WRITE_TIMEOUT)
        except (serial.SerialException, ValueError, OSError) as error:
            raise LinkError(f"cannot open serial port {port.path}: {_reason(error)}") from None
        # USB adapters collect bytes for 16 ms otherwise; ports without that option refuse.
        with contextlib.suppress(OSError, ValueError, NotImplementedError, AttributeError):
            self._port.set_low_latency_mode(True)

    def write(self, data: bytes) -> None:
        with self._errors():
            self._port.write(data)

    def read(self, seconds: float) -> bytes:
        with self._errors():
            self._port.timeout = seconds
            return self._port.read(max(1, self._port.in_waiting))

    def clear(self) -> None:
        with self._errors():
            self._port.reset_input_buffer()

    def close(self) -> None:
        """Give the port back."""
        self._port.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except serial.SerialTimeoutException:
            raise LinkError(f"{self.name} takes no more bytes: nobody reads at its other end"
                            ) from None
        except (serial.SerialException, OSError) as error:
            raise LinkError(f"serial port {self.name} is gone: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    if isinstance(error, serial.SerialException) and "lock" in str(error):
        return "another program uses it; end that first"
    if number == 13:
        return "no permission; on Linux, become a member of its group (often dialout)"
    if number == 2:
        return "there is no such port; is the board plugged in?"
    return str(error)
