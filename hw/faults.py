"""Latches the first fault of a core, which stops it."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.isa import ENGINES, Cause, Engine

#: Bits of a command index, as in STATUS.
INDEX_BITS = 16


class Fault(data.StructLayout):
    """Why a core stopped: engine, cause and command index."""

    def __init__(self):
        super().__init__({"engine": 2, "cause": 4, "index": INDEX_BITS})


class FaultReport(wiring.Signature):
    """What a sequencer tells of its engine, seen from the sequencer.

    ``error``: the core must stop, because of ``cause`` in command ``index``. ``started`` and
    ``retired`` count the engine's commands modulo 65536.
    """

    def __init__(self):
        super().__init__({"error": Out(1), "cause": Out(4), "index": Out(INDEX_BITS),
                          "started": Out(INDEX_BITS), "retired": Out(INDEX_BITS)})


class Faults(wiring.Component):
    """The first fault is kept until reset, two cycles after it happened; of those in the same cycle
    the first in this order: faults of the engines in the order of :class:`Engine`, of the host,
    overruns, overflows.

    The index of a queue overrun is the number of commands that this engine has started; that of
    a semaphore overflow is the command which signalled; those of the host's faults are 0.

    Members
    -------
    move, matrix, vector : In(FaultReport)
        From the sequencers.
    address : In(1)
        The host named a bad address.
    overrun : In(3)
        Bit e: the host wrote to the full queue of engine e.
    overflow : In(4)
        Bit e: engine e (3: the host) signalled a semaphore beyond its range in the cycle before.
    stopped : Out(1)
        There was a fault. Everything must halt.
    fault : Out(Fault)
        Which.
    """

    def __init__(self):
        super().__init__({
            **{engine.name.lower(): In(FaultReport()) for engine in ENGINES},
            "address": In(1), "overrun": In(len(ENGINES)), "overflow": In(len(Engine)),
            "stopped": Out(1), "fault": Out(Fault()),
        })

    def elaborate(self, platform):
        m = Module()
        # What is reported comes late in the cycle, so it is first put into registers.
        reports = [self._registered(m, engine) for engine in ENGINES]
        address, overrun = (Signal.like(port, name=f"{name}_1") for name, port in (
            ("address", self.address), ("overrun", self.overrun)))
        m.d.sync += [address.eq(self.address), overrun.eq(self.overrun)]
        candidates = [
            *((r.error, e, r.cause, r.index) for e, r in zip(ENGINES, reports, strict=True)),
            (address, Engine.HOST, Cause.ADDRESS, 0),
            *((overrun[e], e, Cause.QUEUE_OVERRUN, reports[e].started) for e in ENGINES),
            *((self.overflow[e], e, Cause.SEMAPHORE_OVERFLOW, reports[e].retired) for e in ENGINES),
            (self.overflow[Engine.HOST], Engine.HOST, Cause.SEMAPHORE_OVERFLOW, 0),
        ]
        # The last assignment counts, so the first candidate comes last.
        for happened, engine, cause, index in reversed(candidates):
            with m.If(~self.stopped & happened):
                m.d.sync += [self.stopped.eq(1), self.fault.engine.eq(engine),
                             self.fault.cause.eq(cause), self.fault.index.eq(index)]
        return m

    def _registered(self, m, engine):
        """An engine's report, one cycle later."""
        name = engine.name.lower()
        report = getattr(self, name)
        later = FaultReport().flip().create(path=(f"{name}_1",))
        m.d.sync += [getattr(later, member).eq(getattr(report, member))
                     for member in report.signature.members]
        return later
