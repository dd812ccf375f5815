"""The answer to a read of host or mover: part of a memory's word, and nothing at other times."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2


class SystemAnswer(wiring.Component):
    """Picks the bus's bytes out of a word that arrives one cycle after the read was accepted.

    Latency ``SYSTEM_READ_LATENCY`` from ``accept`` to ``read_data``, one read a cycle.
    ``read_data`` is 0 whenever no answer is due, so the answers of all memories can be ORed.

    Parameters
    ----------
    word_bytes : int
        Bytes of the word, a power of two.
    bus_bytes : int
        Bytes of the bus, a power of two, at most ``word_bytes``.

    Members
    -------
    accept : In(1)
        A read is accepted in this cycle.
    lane : In(ceil_log2(word_bytes // bus_bytes), at least 1)
        Which ``bus_bytes`` of the word, with ``accept``.
    word : In(8 * word_bytes)
        The word, one cycle after ``accept``.
    read_data : Out(8 * bus_bytes)
        The answer, two cycles after ``accept``.

    Raises
    ------
    ValueError
        When a size is no power of two, or the bus is wider than the word.
    """

    def __init__(self, *, word_bytes, bus_bytes):
        for name, value in (("word_bytes", word_bytes), ("bus_bytes", bus_bytes)):
            if not isinstance(value, int) or value < 1 or value & value - 1:
                raise ValueError(f"{name} must be a power of two, not {value!r}")
        if bus_bytes > word_bytes:
            raise ValueError(f"bus_bytes must be at most word_bytes ({word_bytes}), "
                             f"not {bus_bytes}")
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
        due = Signal()
        lane = Signal.like(self.lane)
        m.d.sync += [due.eq(self.accept), lane.eq(self.lane), self.read_data.eq(0)]
        with m.If(due):
            with m.Switch(lane):
                for index in range(self._lanes):
                    with m.Case(index) if index + 1 < self._lanes else m.Default():
                        m.d.sync += self.read_data.eq(self.word.word_select(index, self._bus_bits))
        return m
