"""Words of a memory that are handed out and given back in the same order."""
from collections import deque

from systolith.sw.compiler.allocate import Buffer


class Window:
    """Hands out words that lie side by side, around and around, while there are free ones.

    Parameters
    ----------
    buffer : Buffer
    """

    def __init__(self, buffer: Buffer):
        self.buffer = buffer
        self._used: deque[Buffer] = deque()
        self._next = 0

    def take(self, words: int) -> Buffer | None:
        """``words`` words, or None when so many are not free side by side."""
        base = self._place(words)
        if base is None:
            return None
        taken = Buffer(self.buffer.region, self.buffer.base + base, words)
        self._used.append(taken)
        self._next = base + words
        return taken

    def undo(self) -> None:
        """Give back what was taken last."""
        self._used.pop()
        last = self._used[-1] if self._used else Buffer(self.buffer.region, self.buffer.base, 0)
        self._next = last.base - self.buffer.base + last.words

    def release(self) -> None:
        """Give back what was taken first."""
        self._used.popleft()

    def _place(self, words: int) -> int | None:
        size, used = self.buffer.words, [each for each in self._used if each.words]
        if not used:
            return 0 if words <= size else None
        oldest = used[0].base - self.buffer.base
        if self._next > oldest or words == 0:
            if self._next + words <= size:
                return self._next
            return 0 if words <= oldest else None
        return self._next if self._next + words <= oldest else None
