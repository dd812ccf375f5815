"""The answer to a read of host or mover: part of a memory's word, and nothing at other times."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw.config import SYSTEM_READ_LATENCY
from systolith.hw.memory import READ_LATENCY
from systolith.hw.one_hot import one_hot


class SystemAnswer(wiring.Component):
    """Picks the bus's bytes out of a word that arrives some cycles after the read was accepted.

    Latency ``latency`` from ``accept`` to ``read_data``, one read a cycle.
    ``read_data`` is 0 whenever no answer is due, so the answers of all memories can be ORed.

    Parameters
    ----------
    word_bytes : int
        Bytes of the word, a power of two.
    bus_bytes : int
        Bytes of the bus, a power of two, at most ``word_bytes``.
    word_latency : int
        Cycles from ``accept`` to the word, 1 to ``latency - 1``.
    latency : int
        Cycles from ``accept`` to the answer, ``config.system_read_latency``.

    Members
    -------
    accept : In(1)
        A read is accepted in this cycle.
    lane : In(ceil_log2(word_bytes // bus_bytes), at least 1)
        Which ``bus_bytes`` of the word, with ``accept``.
    word : In(8 * word_bytes)
        The word, ``word_latency`` cycles after ``accept``.
    read_data : Out(8 * bus_bytes)
        The answer, ``latency`` cycles after ``accept``.

    Raises
    ------
    ValueError
        When a size is no power of two, or the bus is wider than the word.
    """

    def __init__(self, *, word_bytes, bus_bytes, word_latency=READ_LATENCY,
                 latency=SYSTEM_READ_LATENCY):
        for name, value in (("word_bytes", word_bytes), ("bus_bytes", bus_bytes)):
            if not isinstance(value, int) or value < 1 or value & value - 1:
                raise ValueError(f"{name} must be a power of two, not {value!r}")
        if bus_bytes > word_bytes:
            raise ValueError(f"bus_bytes must be at most word_bytes ({word_bytes}), "
                             f"not {bus_bytes}")
        if not isinstance(word_latency, int) or not 1 <= word_latency < latency:
            raise ValueError(f"word_latency must be from 1 to {latency - 1}, "
                             f"not {word_latency!r}")
        self._word_latency, self._latency = word_latency, latency
        self._lanes = word_bytes // bus_bytes
        self._bus_bits = 8 * bus_bytes
        super().__init__({
            "accept": In(1),
            "lane": In(max(1, exact_log2(self._lanes))),
            "word": In(8 * word_bytes),
            "read_data": Out(8 * bus_bytes),
        })

    def elaborate(self, platform):
        m = Module()
        hot = one_hot(m, self.lane, self._lanes, name="hot") & self.accept.replicate(self._lanes)
        for cycle in range(1, self._word_latency + 1):
            later = Signal(self._lanes, name=f"hot_{cycle}")
            m.d.sync += later.eq(hot)
            hot = later
        # A tree of gates: a choice among many by their number is far deeper. Its levels are spread
        # over the cycles that are left, the first of which get what is over.
        parts = [self.word.word_select(index, self._bus_bits) & hot[index].replicate(self._bus_bits)
                 for index in range(self._lanes)]
        for level in range(self._latency - self._word_latency, 0, -1):
            for _ in range(-(-exact_log2(len(parts)) // level)):
                parts = [left | right for left, right in zip(parts[::2], parts[1::2], strict=True)]
            parts = [self._registered(m, part, f"part_{level}_{index}")
                     for index, part in enumerate(parts)]
        m.d.comb += self.read_data.eq(parts[0])
        return m

    def _registered(self, m, value, name):
        later = Signal(self._bus_bits, name=name)
        m.d.sync += later.eq(value)
        return later
