"""The virtual board: the simulated machine behind a pseudo-terminal, like a board at a port."""
import os
import pty
import select
import threading
import tty
from contextlib import suppress

from systolith.sim.board import SimulatedBoard

#: Cycles that are simulated before the pseudo-terminal is looked at again.
SLICE = 4000
#: Cycles without a byte after which time stands still until the host sends one: nobody waits then,
#: as a host that waits for the end of a run asks for it all the time.
IDLE_CYCLES = 400_000
#: Bytes that are read at once.
CHUNK = 4096
#: Seconds between two looks whether the board is to be switched off.
PATIENCE = 0.1


class VirtualBoard:
    """Serves a simulated board at a pseudo-terminal. Switch it on in a ``with`` statement, which
    uses a thread, or call :meth:`serve`.

    Parameters
    ----------
    board : SimulatedBoard
        The board; it must live as long as this.

    Attributes
    ----------
    path : str
        The pseudo-terminal, to be opened like a serial port.
    """

    def __init__(self, board: SimulatedBoard):
        self._board = board
        self._master, self._slave = pty.openpty()
        # The slave stays open, so the board outlives its hosts.
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        self._off = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "VirtualBoard":
        self._thread = threading.Thread(target=self.serve, name="virtual board", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Switch the board off."""
        self._off.set()
        if self._thread:
            self._thread.join()
        for descriptor in (self._master, self._slave):
            with suppress(OSError):
                os.close(descriptor)

    def serve(self) -> None:
        """Simulate until the board is switched off."""
        quiet = 0
        while not self._off.is_set():
            came = self._take(wait=quiet >= IDLE_CYCLES)
            went = self._board.run(SLICE)
            self._give(went)
            quiet = 0 if came or went or self._board.sending else min(quiet + SLICE, IDLE_CYCLES)

    def _take(self, *, wait: bool) -> bool:
        """Put what the host has sent onto the line; with ``wait``, be in no hurry."""
        ready, _, _ = select.select([self._master], [], [], PATIENCE if wait else 0)
        if not ready:
            return False
        data = os.read(self._master, CHUNK)
        self._board.send(data)
        return bool(data)

    def _give(self, data: bytes) -> None:
        """Hand bytes to the host. A real UART does not wait: what finds no room is lost."""
        with suppress(BlockingIOError):
            os.write(self._master, data)
