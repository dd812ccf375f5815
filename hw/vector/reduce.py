"""Reduction over the elements of a row."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw import isa
from systolith.hw.vector.delay import delayed, register
from systolith.hw.vector.rounding import saturate
from systolith.hw.vector.saturate import lane_mask


def reduce_latency(lanes):
    """Cycles from a row's last beat to its reduction: preparation, tree, accumulation."""
    return 1 + exact_log2(lanes) + 1


def _merge(m, a, b, add, name):
    """``a + b`` or ``max(a, b)`` through one adder, one bit wider; also whether b is the larger."""
    width = len(a) + 1
    total = Signal(signed(width), name=f"{name}_total")
    merged = Signal(signed(width), name=f"{name}_merged")
    larger = Signal(name=f"{name}_larger")
    m.d.comb += [
        total.eq(a + Mux(add, b, ~b).as_signed() + ~add),
        larger.eq(~add & total[-1]),
        merged.eq(Mux(add, total, Mux(larger, b, a))),
    ]
    return merged, larger


class Reduce(wiring.Component):
    """Reduction of a row: ``numerics.reduce_max``, ``_sum``, ``_absmax``, ``_index``.

    A tree over the lanes, one level a cycle, then an accumulator over the beats of a row. Latency
    :func:`reduce_latency`, one beat a cycle; rows may have one beat and follow without a gap.

    Parameters
    ----------
    lanes : int
        Elements of a beat, a power of two.

    Members
    -------
    x : In(lanes of signed 32)
        Elements.
    count : In(range(lanes + 1))
        How many lanes, from lane 0 on, are valid.
    mode : In(isa.Reduce)
        What to compute; with ``NONE`` the result is undefined.
    valid : In(1)
        There is a beat.
    first : In(1)
        It is the row's first.
    y : Out(signed 48)
        Reduction of the row up to this beat.
    """

    def __init__(self, *, lanes):
        super().__init__({
            "x": In(data.ArrayLayout(signed(32), lanes)), "count": In(range(lanes + 1)),
            "mode": In(3), "valid": In(1), "first": In(1), "y": Out(signed(isa.SUM_BITS)),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.x.shape().length
        mask = Signal(lanes)
        m.d.comb += mask.eq(lane_mask(self.count, lanes))
        level = [register(m, self._prepare(m, x, mask[lane], lane), f"prepared_{lane}")
                 for lane, x in enumerate(self.x)]
        places = [Const(0, 0)] * lanes
        add = register(m, self.mode == isa.Reduce.SUM, "add_0")
        for depth in range(exact_log2(lanes)):
            pairs = list(zip(level[::2], level[1::2], places[::2], places[1::2], strict=True))
            level, places = [], []
            for index, (a, b, place_a, place_b) in enumerate(pairs):
                name = f"level_{depth}_{index}"
                merged, larger = _merge(m, a, b, add, name)
                level.append(register(m, merged, name))
                places.append(register(m, Cat(Mux(larger, place_b, place_a), larger),
                                       f"place_{depth}_{index}"))
            add = register(m, add, f"add_{depth + 1}")
        self._accumulate(m, level[0], places[0], add, 1 + exact_log2(lanes))
        return m

    def _prepare(self, m, x, valid, lane):
        """What an element counts in the reduction; the neutral element when it is not valid."""
        result = Signal(signed(32), name=f"counted_{lane}")
        with m.Switch(self.mode):
            with m.Case(isa.Reduce.MAX, isa.Reduce.INDEX):
                # The least number is the sign bit alone.
                m.d.comb += result.eq(Cat(Mux(valid, x[:31], 0), x[31] | ~valid))
            with m.Case(isa.Reduce.SUM):
                m.d.comb += result.eq(Mux(valid, x, 0))
            with m.Default():
                # Minus the least number does not exist: 33 bits, then saturated.
                magnitude = Mux(x[31], ~x, x).as_signed() + x[31]
                m.d.comb += result.eq(Mux(valid, saturate(magnitude, 32), 0))
        return result

    def _accumulate(self, m, beat, place, add, latency):
        valid = delayed(m, self.valid, latency, "valid")
        first = delayed(m, self.first, latency, "first")
        total = Signal(signed(isa.SUM_BITS), reset_less=True)
        # The beat's number in its row, of this beat and of the one that holds the maximum.
        number, best = Signal(16, reset_less=True), Signal(16, reset_less=True)
        beat_number = Signal(16)
        wide = Signal(signed(isa.SUM_BITS))
        merged, larger = _merge(m, total, wide, add, "row")
        m.d.comb += [beat_number.eq(Mux(first, 0, number)), wide.eq(beat)]
        with m.If(valid):
            m.d.sync += [total.eq(Mux(first, wide, merged[:isa.SUM_BITS].as_signed())),
                         number.eq(beat_number + 1)]
            with m.If(first | larger):
                m.d.sync += best.eq(Cat(place, beat_number)[:16])
        index = delayed(m, self.mode == isa.Reduce.INDEX, latency + 1, "index")
        m.d.comb += self.y.eq(Mux(index, best, total).as_signed())
