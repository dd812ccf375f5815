"""Piecewise linear function tables."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw import isa
from systolith.hw.config import TABLE_SEGMENTS
from systolith.hw.vector.delay import delayed, register
from systolith.hw.vector.rounding import round_up, saturate, shift_stage

#: Cycles from element to function value.
FUNCTION_LATENCY = 7

#: One segment of a table.
PAIR = data.StructLayout({"base": signed(16), "slope": signed(16)})

SEGMENT_BITS = exact_log2(TABLE_SEGMENTS)

#: Where an element is in the table; ``shift`` halves the value of EXP2.
_Place = data.StructLayout({"segment": SEGMENT_BITS, "rest": 10, "shift": 5})


class FunctionTables(wiring.Component):
    """A function of each element: none, ``numerics.table_linear`` or ``numerics.table_exp2``.

    Every lane has a copy of all tables and a multiplier of its own. Latency
    :data:`FUNCTION_LATENCY`, one beat a cycle. A pair written in a cycle counts for elements that
    enter in the next cycle and later.

    Parameters
    ----------
    lanes : int
        Elements of a beat.
    tables : int
        Tables held at once, a power of two.

    Members
    -------
    x : In(lanes of signed 32)
        Elements.
    mode : In(isa.Function)
        Function of this beat.
    table : In(1)
        Which table.
    load : In(1)
        Write ``pair`` as entry ``entry`` of table ``table``.
    entry : In(6)
        Segment written.
    pair : In(PAIR)
        Base and slope written.
    y : Out(lanes of signed 32)
        Function values; INT16 when there is a function, else ``x``.
    own, narrow : Out(lanes of signed 16)
        ``x`` and ``y`` saturated to INT16, in step with ``y``.
    """

    def __init__(self, *, lanes, tables):
        if tables not in (1, 2):
            raise ValueError(f"tables must be 1 or 2, not {tables!r}")
        self._tables = tables
        super().__init__({
            "x": In(data.ArrayLayout(signed(32), lanes)), "mode": In(2), "table": In(1),
            "load": In(1), "entry": In(SEGMENT_BITS), "pair": In(PAIR),
            "y": Out(data.ArrayLayout(signed(32), lanes)),
            "own": Out(data.ArrayLayout(signed(16), lanes)),
            "narrow": Out(data.ArrayLayout(signed(16), lanes)),
        })

    @property
    def tables(self):
        """Tables held at once."""
        return self._tables

    def elaborate(self, platform):
        m = Module()
        # Elements read the tables one cycle after they entered; so must writes.
        self._load = Signal()
        m.d.sync += self._load.eq(self.load)
        self._table = register(m, self.table, "table_1")
        self._entry = register(m, self.entry, "entry_1")
        self._written = register(m, self.pair, "pair_1")
        used = delayed(m, self.mode != isa.Function.NONE, FUNCTION_LATENCY - 1, "used")
        x_late = delayed(m, self.x, FUNCTION_LATENCY - 1, "x")
        for lane, x in enumerate(self.x):
            place = register(m, self._place(m, x, lane), f"place_{lane}")
            value = self._value(m, place, lane)
            passed = x_late[lane]
            own = saturate(passed, 16)
            m.d.comb += [
                self.y[lane].eq(register(m, Mux(used, value, passed).as_signed(), f"y_{lane}")),
                self.own[lane].eq(register(m, own, f"own_{lane}")),
                self.narrow[lane].eq(register(m, Mux(used, value, own), f"narrow_{lane}")),
            ]
        return m

    def _place(self, m, x, lane):
        """Segment, rest and shift of an element."""
        near = Signal(signed(16), name=f"near_{lane}")
        magnitude = Signal(16, name=f"magnitude_{lane}")
        place = Signal(_Place, name=f"placing_{lane}")
        # Minus `near` where that is negative. The adder is beside the saturation, not behind it.
        m.d.comb += [near.eq(saturate(x, 16)),
                     magnitude.eq(Mux(x[15:].all(), (~x[:16] + 1)[:16], x[-1] << 15))]
        with m.If(self.mode == isa.Function.EXP2):
            m.d.comb += [place.rest.eq(Cat(Const(0, 5), magnitude[:5])),
                         place.segment.eq(magnitude[5:11]), place.shift.eq(magnitude[11:])]
        with m.Else():
            # Adding 32768 to an INT16 inverts its top bit.
            m.d.comb += [place.rest.eq(near[:10]), place.segment.eq(Cat(near[10:15], ~near[15]))]
        return place

    def _value(self, m, place, lane):
        """Interpolate and shift; 5 cycles from ``place`` on, the last of them the caller's."""
        pair = register(m, self._pair(m, place, lane), f"pair_{lane}")
        rest = delayed(m, place.rest, 2, f"rest_{lane}")
        shift = delayed(m, place.shift, 4, f"shift_{lane}")
        product = register(m, pair.slope * rest, f"product_{lane}")
        base = register(m, pair.base, f"base_{lane}")
        # The increment is a carry into the sum: both operands are longer by a bit.
        quotient, up = product[10:].as_signed(), round_up(product[10:], product[9],
                                                          product[:9].any())
        total = Cat(Const(1, 1), base).as_signed() + Cat(up, quotient).as_signed()
        value = saturate(total[1:].as_signed(), 16)
        value = register(m, value, f"value_{lane}")
        shifted, sticky = shift_stage(m, Cat(Const(0, 1), value), Const(0), shift, 1,
                                      f"shifting_{lane}")
        shifted = register(m, shifted, f"shifted_{lane}")
        sticky = register(m, sticky, f"sticky_{lane}")
        quotient = shifted[1:].as_signed()
        return quotient + round_up(quotient, shifted[0], sticky)

    def _pair(self, m, place, lane):
        """The table's entry, one cycle after ``place``."""
        depth = self._tables * TABLE_SEGMENTS
        m.submodules[f"table_{lane}"] = memory = Memory(shape=PAIR, depth=depth, init=[])
        write = memory.write_port()
        read = memory.read_port()
        # With one table the slot's bit falls off the end of the address.
        m.d.comb += [
            write.en.eq(self._load), write.data.eq(self._written),
            write.addr.eq(Cat(self._entry, self._table)),
            read.addr.eq(Cat(place.segment, self._table)),
        ]
        return read.data
