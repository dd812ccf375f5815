"""When a command has done all its writes."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Retire(wiring.Component):
    """One pulse a command, in order, early for those that reduce nothing.

    Reductions are written ``late_cycles`` after the sink. A command without one retires with its
    last write, unless an earlier command is still to retire late; then it waits its turn.

    Parameters
    ----------
    late_cycles : int
        Cycles from the sink's write to the write of a reduction, at least 1.

    Members
    -------
    done : In(1)
        The last beat of a command is written by the sink in this cycle.
    reduces : In(1)
        That command has a reduction.
    retire : Out(1)
        A command retires. Latency 0 or ``late_cycles``.
    """

    def __init__(self, *, late_cycles):
        if late_cycles < 1:
            raise ValueError(f"late_cycles must be at least 1, not {late_cycles}")
        self._late_cycles = late_cycles
        super().__init__({"done": In(1), "reduces": In(1), "retire": Out(1)})

    def elaborate(self, platform):
        m = Module()
        # The commands that retire late, by age: any bit set means that one is pending.
        late = Signal(self._late_cycles)
        joins = Signal()
        m.d.comb += [joins.eq(self.done & (self.reduces | late.any())),
                     self.retire.eq(late[-1] | (self.done & ~joins))]
        m.d.sync += late.eq(Cat(joins, late[:-1]))
        return m
