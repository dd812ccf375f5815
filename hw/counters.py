"""The performance counters of a core."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.isa import ENGINES, Counter


class EngineActivity(wiring.Signature):
    """What one engine does in a cycle, seen from its observer: ``active`` and ``stall`` as in
    :class:`EnginePort`, ``waiting`` for a semaphore, ``fenced``, ``retire`` of a command."""

    def __init__(self):
        super().__init__({"active": Out(1), "stall": Out(1), "waiting": Out(1), "fenced": Out(1),
                          "retire": Out(1)})


class Counters(wiring.Component):
    """Counts cycles by what the engines do. All wrap at 32 bits.

    Per engine a cycle is counted once at most: ``BUSY`` when active and not stalled, ``STALL``
    when active and stalled, else ``WAIT_SEMAPHORE`` or ``WAIT_FENCE``.

    Parameters
    ----------
    beat_bytes : int
        What ``moved`` adds to ``move_bytes``.

    Members
    -------
    enable : In(1)
        Count this cycle. ``move_bytes`` and ``COMMANDS`` count always.
    clear : In(1)
        Zero all.
    moved : In(1)
        The mover moved a beat.
    move, matrix, vector : In(EngineActivity)
        The engines.
    cycles, move_bytes : Out(32), values : Out(ArrayLayout(ArrayLayout(32, 5), 3))
        The counts, ``values`` by engine and :class:`Counter`.
    """

    def __init__(self, *, beat_bytes):
        self._beat_bytes = beat_bytes
        super().__init__({
            "enable": In(1), "clear": In(1), "moved": In(1),
            **{engine.name.lower(): In(EngineActivity()) for engine in ENGINES},
            "cycles": Out(32), "move_bytes": Out(32),
            "values": Out(data.ArrayLayout(data.ArrayLayout(32, len(Counter)), len(ENGINES))),
        })

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.cycles.eq(self.cycles + 1)
        with m.If(self.moved):
            m.d.sync += self.move_bytes.eq(self.move_bytes + self._beat_bytes)
        for engine in ENGINES:
            happens = self._events(getattr(self, engine.name.lower()))
            for counter, event in happens.items():
                value = self.values[engine][counter]
                with m.If(event):
                    m.d.sync += value.eq(value + 1)
        with m.If(self.clear):
            m.d.sync += [self.cycles.eq(0), self.move_bytes.eq(0), self.values.eq(0)]
        return m

    def _events(self, engine):
        waits = self.enable & ~engine.active
        return {
            Counter.BUSY: self.enable & engine.active & ~engine.stall,
            Counter.STALL: self.enable & engine.active & engine.stall,
            Counter.WAIT_SEMAPHORE: waits & engine.waiting,
            Counter.WAIT_FENCE: waits & engine.fenced,
            Counter.COMMANDS: engine.retire,
        }
