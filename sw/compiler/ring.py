"""Words of a memory that are used around and around, for what is fetched just before its use."""
from systolith.sw.compiler.allocate import Buffer


class Ring:
    """Hands the words of a buffer out in order, and again from the first on.

    What is handed out is overwritten by what is handed out later. The scheduler makes a load wait
    for the last use of the words it overwrites, so loads run ahead as far as the ring is long.

    Parameters
    ----------
    buffer : Buffer
    """

    def __init__(self, buffer: Buffer):
        self.buffer = buffer
        self._next = 0

    def take(self, words: int) -> Buffer:
        """The next ``words`` words, which lie side by side; at most as many as the ring has."""
        if words > self.buffer.words:
            raise ValueError(f"{words} words do not fit a ring of {self.buffer.words}")
        if self._next + words > self.buffer.words:
            self._next = 0
        base = self.buffer.base + self._next
        self._next += words
        return Buffer(self.buffer.region, base, words)
