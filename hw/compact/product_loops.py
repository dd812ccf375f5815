"""The three loops of a product: a beat a cycle where the memories allow it."""
import enum

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.config import Config

#: Nested loops of a product, the innermost first.
LOOPS = 3


class Setup(enum.IntEnum):
    """What the engine writes before a product; the places of ACT, WGT and ACC hold four each:
    first address, and what is added where loop 0, 1, 2 goes on. ``COUNTS``: iterations less one of
    each loop. ``START``: :class:`Flag` bits."""

    ACT = 0
    WGT = 4
    ACC = 8
    COUNTS = 12
    START = 15


class Flag(enum.IntFlag):
    """Bits of ``Setup.START``. ``ACC0_MOVES`` and the next two: the loop's accumulator stride is
    not 0. ``WGT0_MOVES``: loop 0 has a weight stride. Without ``GO`` what runs is stopped."""

    GO = 1
    UNSIGNED = 2
    ACCUMULATE = 4
    WGT0_MOVES = 8
    ACC0_MOVES = 16
    ACC1_MOVES = 32
    ACC2_MOVES = 64


class Beat(wiring.Signature):
    """One beat, seen from the loops: addresses, whether it needs new weights, and whether it
    starts a sum."""

    def __init__(self, config):
        super().__init__({"valid": Out(1), "load": Out(1), "first": Out(1),
                          "act": Out(range(config.act_depth)), "wgt": Out(range(config.wgt_depth)),
                          "acc": Out(range(config.acc_depth))})


class CompactLoops(wiring.Component):
    """Issues the beats of one product.

    A beat with new weights comes at least two cycles after the one before it, as does a beat whose
    accumulators are those of the beat before. What is added to the addresses is prepared by
    the engine: ``stride - (count - 1) * inner stride ...``, modulo the memory's depth.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    write : In(1), place : In(4), data : In(32)
        Of the engine, see :class:`Setup`.
    hold : In(1)
        Issue nothing.
    beat : Out(Beat)
        The beat of this cycle.
    unsigned : Out(1)
        The left operand has no sign.
    running : Out(1)
        Beats are left.
    """

    def __init__(self, *, config):
        if not isinstance(config, Config):
            raise TypeError(f"config must be a Config, not {config!r}")
        self._config = config
        super().__init__({"write": In(1), "place": In(4), "data": In(32), "hold": In(1),
                          "beat": Out(Beat(config)), "unsigned": Out(1), "running": Out(1)})

    def elaborate(self, platform):
        m = Module()
        issue = self.beat.valid
        ends, zeros = self._count(m, issue)
        level = Cat(~ends[0], ends[0] & ~ends[1], ends[0] & ends[1])
        for name in ("act", "wgt", "acc"):
            self._address(m, name, issue, level)
        flags = self._flags(m)
        stays = self._stays(m, issue, level)
        loaded = Signal()
        m.d.sync += loaded.eq(issue & self.beat.load)
        moves = Cat(flags[flag.bit_length() - 1] for flag in (
            Flag.ACC0_MOVES, Flag.ACC1_MOVES, Flag.ACC2_MOVES))
        m.d.comb += [
            self.beat.load.eq(zeros[0] | flags[Flag.WGT0_MOVES.bit_length() - 1]),
            self.beat.first.eq((moves | zeros).all() & ~flags[Flag.ACCUMULATE.bit_length() - 1]),
            self.unsigned.eq(flags[Flag.UNSIGNED.bit_length() - 1]),
            issue.eq(self.running & ~self.hold & ~(loaded & self.beat.load) & ~stays),
        ]
        with m.If(issue & ends.all()):
            m.d.sync += self.running.eq(0)
        with m.If(self.write & (self.place == Setup.START)):
            m.d.sync += self.running.eq(self.data[0])
        return m

    def _stays(self, m, issue, level):
        """A beat was issued in the cycle before, and its accumulators are those of the next one."""
        stays = Signal()
        stands = Signal(LOOPS)  # bit k: loop k adds nothing to the address
        for loop in range(LOOPS):
            with m.If(self.write & (self.place == Setup.ACC + 1 + loop)):
                m.d.sync += stands[loop].eq(self.data[:len(self.beat.acc)] == 0)
        m.d.sync += stays.eq(issue & (level & stands).any())
        return stays

    def _flags(self, m):
        flags = Signal(len(Flag))
        with m.If(self.write & (self.place == Setup.START)):
            m.d.sync += flags.eq(self.data)
        return flags

    def _count(self, m, issue):
        """(bit k: loop k is in its last iteration, bit k: in its first); all of them registers."""
        ends = Signal(LOOPS)
        zeros = Signal(LOOPS)
        step = issue
        for loop in range(LOOPS):
            count = Signal(16, name=f"count_{loop}")
            left = Signal(16, name=f"left_{loop}")
            single = Signal(name=f"single_{loop}")  # the loop has one iteration
            with m.If(step):
                m.d.sync += [left.eq(Mux(ends[loop], count, left - 1)), zeros[loop].eq(ends[loop]),
                             ends[loop].eq(Mux(ends[loop], single, left == 1))]
            with m.If(self.write & (self.place == Setup.COUNTS + loop)):
                m.d.sync += [count.eq(self.data), left.eq(self.data), zeros[loop].eq(1),
                             single.eq(self.data == 0), ends[loop].eq(self.data == 0)]
            step = step & ends[loop]
        return ends, zeros

    def _address(self, m, name, issue, level):
        """The address of one memory, and what is added to it."""
        current = getattr(self.beat, name)
        first = Setup[name.upper()]
        steps = [Signal.like(current, name=f"{name}_step_{loop}") for loop in range(LOOPS)]
        step = Signal.like(current, name=f"{name}_step")
        m.d.comb += step.eq(Mux(level[2], steps[2], Mux(level[1], steps[1], steps[0])))
        with m.If(issue):
            m.d.sync += current.eq(current + step)
        for offset, target in enumerate((current, *steps)):
            with m.If(self.write & (self.place == first + offset)):
                m.d.sync += target.eq(self.data)
