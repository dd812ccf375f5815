"""Which elements of a beat are valid."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw.vector.delay import register

#: Cycles from beat to count.
VALIDITY_LATENCY = 2


class Validity(wiring.Component):
    """Number of leading lanes of a beat that are valid. One beat a cycle.

    Element ``n`` is valid when ``n < valid`` and, where ``causal``, ``n < horizon``. Latency
    :data:`VALIDITY_LATENCY`.

    Parameters
    ----------
    lanes : int
        Elements of a beat, a power of two.

    Members
    -------
    beat : In(16)
        Number of the beat in its row.
    valid : In(16)
        Elements of every row that are valid.
    causal : In(1)
        Whether ``horizon`` counts.
    horizon : In(17)
        Elements up to the row's position: ``position + row + 1``.
    count : Out(range(lanes + 1))
        Valid lanes, from lane 0 on.
    """

    def __init__(self, *, lanes):
        self._lanes = lanes
        super().__init__({"beat": In(16), "valid": In(16), "causal": In(1), "horizon": In(17),
                          "count": Out(range(lanes + 1))})

    def elaborate(self, platform):
        m = Module()
        near = self.causal & (self.horizon < self.valid)
        limit = register(m, Mux(near, self.horizon[:16], self.valid), "limit")
        beat = register(m, self.beat, "beat_1")
        # Whole beats first: the limit lies in beat number `last`, after `rest` elements of it.
        bits = exact_log2(self._lanes)
        last, rest = limit[bits:], limit[:bits]
        count = Mux(beat < last, self._lanes, Mux(beat == last, rest, 0))
        m.d.comb += self.count.eq(register(m, count[:bits + 1], "count_1"))
        return m
