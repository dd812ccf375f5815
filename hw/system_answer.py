"""The answer to a read of host or mover: part of a memory's word, and nothing at other times."""
from functools import reduce
from operator import or_

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
        due, hot = self.accept, one_hot(m, self.lane, self._lanes, name="hot")
        for cycle in range(1, self._word_latency + 1):
            later_due, later_hot = (Signal.like(value, name=f"{name}_{cycle}")
                                    for name, value in (("due", due), ("hot", hot)))
            m.d.sync += [later_due.eq(due), later_hot.eq(hot)]
            due, hot = later_due, later_hot
        part = Signal.like(self.read_data)
        m.d.sync += part.eq(0)
        with m.If(due):
            # A tree of gates: a choice among many by their number is far deeper.
            terms = [self.word.word_select(index, self._bus_bits) & hot[index].replicate(
                self._bus_bits) for index in range(self._lanes)]
            while len(terms) > 1:
                terms = [reduce(or_, terms[at:at + 2]) for at in range(0, len(terms), 2)]
            m.d.sync += part.eq(terms[0])
        for cycle in range(1, self._latency - self._word_latency):
            later = Signal.like(part, name=f"part_{cycle}")
            m.d.sync += later.eq(part)
            part = later
        m.d.comb += self.read_data.eq(part)
        return m
