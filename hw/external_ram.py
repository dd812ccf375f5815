"""External memory out of block RAM, for boards without a memory chip."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from systolith.hw.external_share import ExternalUser
from systolith.hw.memory import Memory


class ExternalRam(wiring.Component):
    """Block RAM behind the port of an external memory.

    An access a cycle, reads with one cycle of latency. A write is taken together with its beat.
    Addresses beyond the end start again at 0.

    Parameters
    ----------
    bus_bytes : int
        Bytes of a beat.
    size : int
        Bytes, a power of two, at least two beats.

    Members
    -------
    user : In(ExternalUser)
        See :class:`~systolith.hw.external.ExternalPort`.
    forget : In(1)
        Drop the beat that was asked for and not taken, for a user that is reset.

    Raises
    ------
    ValueError
        When the size is no such number.
    """

    def __init__(self, *, bus_bytes, size):
        if not isinstance(size, int) or size < 2 * bus_bytes or size & size - 1:
            raise ValueError(f"size must be a power of two of at least {2 * bus_bytes} bytes, "
                             f"not {size!r}")
        self._bus_bytes, self._size = bus_bytes, size
        super().__init__({"user": In(ExternalUser(bus_bytes=bus_bytes)), "forget": In(1)})

    @property
    def size(self):
        """Bytes."""
        return self._size

    def elaborate(self, platform):
        m = Module()
        width = 8 * self._bus_bytes
        m.submodules.words = words = Memory(
            width=width, depth=self._size // self._bus_bytes, granularity=width)
        request, write, read = self.user.request, self.user.write, self.user.read
        word = request.p.address[self._bus_bytes.bit_length() - 1:]
        reads = request.valid & ~request.p.write & (~read.valid | read.ready)
        writes = request.valid & request.p.write & write.valid
        m.d.comb += [
            request.ready.eq(reads | writes), write.ready.eq(writes),
            words.read.valid.eq(reads), words.read.address.eq(word),
            words.write.mask.eq(writes), words.write.address.eq(word),
            words.write.data.eq(write.payload), read.payload.eq(words.read.data),
        ]
        with m.If(self.forget):
            m.d.sync += read.valid.eq(0)
        with m.Elif(reads):
            m.d.sync += read.valid.eq(1)
        with m.Elif(read.ready):
            m.d.sync += read.valid.eq(0)
        return m
