"""What comes to a core from others: beats that are written, and signals after them."""
from collections import deque
from dataclasses import dataclass

from systolith.sw.estimate.ports import Key, Ports
from systolith.sw.estimate.timeline import Ints


@dataclass
class _Beats:
    key: Key
    ready: Ints


@dataclass(frozen=True)
class _Signal:
    mask: int
    ready: int


class Inbox:
    """Beats and signals in the order in which they come. The core's engines write before them.

    The hardware holds up senders where a core cannot write for longer than its queue lasts; here
    they go on.

    Parameters
    ----------
    ports : Ports
        Of the core.
    """

    def __init__(self, ports: Ports):
        self._ports = ports
        self._waiting: deque[_Beats | _Signal] = deque()
        self._written = -1

    def write(self, key: Key, ready: Ints) -> None:
        """Beats come, which can be written from these cycles on."""
        self._waiting.append(_Beats(key, ready))

    def signal(self, mask: int, ready: int) -> None:
        """A signal comes, which shows in cycle ``ready``, or after what came before it."""
        self._waiting.append(_Signal(mask, ready))

    def advance(self, known: int) -> tuple[list[tuple[int, int]], int | None]:
        """Settle what happens up to cycle ``known``, up to which the engines' writes are known.

        Returns
        -------
        signals : list of (mask, cycle)
            Those that have been settled, and when they show.
        following : int or None
            Before this cycle nothing else is written; None when nothing waits.
        """
        signals = []
        while self._waiting:
            first = self._waiting[0]
            if isinstance(first, _Signal):
                signals.append((first.mask, max(first.ready, self._written + 1)))
            elif (left := self._write(first, known)) is not None:
                return signals, left
            self._waiting.popleft()
        return signals, None

    def _write(self, beats: _Beats, known: int) -> int | None:
        """Write the beats that can be; the first cycle of one that cannot."""
        cycles, done = self._ports.remote_writes(beats.key, beats.ready, self._written, known)
        if done:
            self._written = int(cycles[done - 1])
        if done == len(cycles):
            return None
        beats.ready = beats.ready[done:]
        return int(cycles[done])
