"""The counting semaphores of a core: the only order between its engines."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.isa import ENGINES, Engine

#: Who is served first when several engines want to start in one cycle.
PRIORITY = (Engine.MATRIX, Engine.VECTOR, Engine.MOVE)

#: Who gives signals in a core by itself.
SIGNALLERS = len(Engine)

#: Bits of a mask of semaphores in commands and registers.
MASK_BITS = 16


def _ones(bits, *, less):
    """How many bits are set, minus ``less``: as tables, where a sum would be a chain of adders."""
    counts = [number.bit_count() - less for number in range(1 << len(bits))]
    width = len(bits).bit_length() + 1
    return Cat(Const(sum((count >> place & 1) << number for number, count in enumerate(counts)),
                     len(counts)).bit_select(bits, 1) for place in range(width)).as_signed()


class Semaphores(wiring.Component):
    """Counts signals and grants starts. A signal counts in the cycle after it was given.

    At most one engine is granted a cycle, so two engines never take the last count of a
    semaphore both, and no count goes below zero. Grants are combinational.

    Parameters
    ----------
    count : int
        Number of semaphores, 1 to 16.
    width : int
        Bits of each.
    signallers : int
        Who gives signals: the engines, at 3 the host, and perhaps more.

    Members
    -------
    request : In(3)
        Bit e: engine e has a command that only its semaphores hold back.
    wait : In(ArrayLayout(16, 3))
        Its semaphores: all must be positive. Those beyond ``count`` never are.
    grant : Out(3)
        Bit e: the command of engine e starts; its semaphores are decremented.
    signal : In(ArrayLayout(16, signallers))
        Semaphores that each of them increments. Those beyond ``count`` are ignored.
    values : Out(ArrayLayout(width, count))
        The counts.
    overflow : Out(signallers)
        Bit e: signaller e signalled a semaphore that exceeded its range in the cycle before. The
        count is then wrong until reset.

    Raises
    ------
    ValueError
        When ``count`` or ``width`` is out of range.
    """

    def __init__(self, *, count, width, signallers=SIGNALLERS):
        if not 1 <= count <= MASK_BITS:
            raise ValueError(f"Number of semaphores must be from 1 to {MASK_BITS}, not {count!r}")
        if not isinstance(width, int) or width < 1:
            raise ValueError(f"Semaphore width must be a positive integer, not {width!r}")
        self._count = count
        self._width = width
        self._signallers = signallers
        super().__init__({
            "request": In(len(ENGINES)),
            "wait": In(data.ArrayLayout(MASK_BITS, len(ENGINES))),
            "grant": Out(len(ENGINES)),
            "signal": In(data.ArrayLayout(MASK_BITS, signallers)),
            "values": Out(data.ArrayLayout(width, count)),
            "overflow": Out(signallers),
        })

    def elaborate(self, platform):
        m = Module()
        positive = Signal(self._count)  # in registers: a grant depends on it
        taken = Signal(self._count)
        exceeded = Signal(self._count)
        self._grant(m, positive, taken)
        for index in range(self._count):
            self._update(m, index, positive, taken, exceeded)
        signalled = Signal.like(self.signal)
        m.d.sync += signalled.eq(self.signal)
        for giver in range(self._signallers):
            m.d.comb += self.overflow[giver].eq((signalled[giver] & exceeded).any())
        return m

    def _grant(self, m, positive, taken):
        free = Const(1)
        for engine in PRIORITY:
            wait = self.wait[engine]
            missing = Signal(MASK_BITS, name=f"missing_{engine.name.lower()}")
            possible = Signal(name=f"possible_{engine.name.lower()}")
            m.d.comb += [
                # Zero extension: `missing` also names semaphores that do not exist.
                missing.eq(wait & ~Cat(positive, Const(0, MASK_BITS - self._count))),
                possible.eq(self.request[engine] & (missing == 0)),
                self.grant[engine].eq(possible & free),
            ]
            with m.If(self.grant[engine]):
                m.d.comb += taken.eq(wait)
            free = free & ~possible

    def _update(self, m, index, positive, taken, exceeded):
        """Whether it is taken is known last, so it only chooses between two sums."""
        value = self.values[index]
        signals = Cat(self.signal[giver][index] for giver in range(self._signallers))
        # What exceeds the range is looked at in the next cycle: this one has a sum already.
        beyond = Signal(2, name=f"beyond{index}")
        m.d.comb += exceeded[index].eq(beyond.any())
        totals = []
        for less in range(2):
            total = Signal(self._width + 2, name=f"total{index}_{less}")
            # Only a positive semaphore is taken, so the difference is not negative.
            m.d.comb += total.eq(value + _ones(signals, less=less))
            totals.append(total)
        kept, less = totals
        m.d.sync += [
            Cat(value, beyond).eq(Mux(taken[index], less, kept)),
            # Without a sum: a signal is enough, else one more than is taken must be there.
            positive[index].eq(signals.any() | Mux(taken[index], value[1:].any(), value.any())),
        ]
