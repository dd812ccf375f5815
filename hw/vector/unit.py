"""The vector unit: engine of passes and table loads."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.config import Config
from systolith.hw.interfaces import (
    AccumulatorReadPort,
    ActivationWritePort,
    EnginePort,
    SystemPort,
    WeightWritePort,
)
from systolith.hw.memory import READ_LATENCY
from systolith.hw.vector.constant_memory import ConstantMemory
from systolith.hw.vector.delay import delayed
from systolith.hw.vector.issue import Issue
from systolith.hw.vector.pipeline import Pipeline
from systolith.hw.vector.row_memory import RowMemory
from systolith.hw.vector.vector_memory import VectorMemory
from systolith.hw.vector.work import COMMAND_LAYOUT


class VectorUnit(wiring.Component):
    """Executes ``isa.Pass`` and ``isa.Table``: one beat of ``lanes`` elements a cycle.

    Nothing stalls after a beat has started; it starts when the accumulators accept its read (beats
    of source VEC at once). A table load takes 64 cycles. The latencies are in ``timing.py``;
    ``retire`` comes in the cycle of a command's last write, so a command that starts in the next
    cycle sees it. Function tables need no fence: loads and passes use them in order.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    engine : In(EnginePort(COMMAND_LAYOUT))
        Commands. ``error`` stays high while the command at fault is here and ``halt`` is low.
    acc : Out(AccumulatorReadPort)
        Source ACC.
    act : Out(ActivationWritePort)
        Sink ACT.
    wgt : Out(WeightWritePort)
        Sinks WGT_ROWS and WGT_LANES.
    vec_system, const_system, row_system : In(SystemPort)
        Host and mover to the unit's memories. Not ready while the unit uses the memory.

    Raises
    ------
    TypeError
        When ``config`` is no Config.
    """

    def __init__(self, *, config):
        if not isinstance(config, Config):
            raise TypeError(f"config must be a Config, not {config!r}")
        self._config = config
        system = In(SystemPort(bus_bytes=config.bus_bytes))
        super().__init__({
            "engine": In(EnginePort(COMMAND_LAYOUT)), "acc": Out(AccumulatorReadPort(config)),
            "act": Out(ActivationWritePort(config)), "wgt": Out(WeightWritePort(config)),
            "vec_system": system, "const_system": system, "row_system": system,
        })

    @property
    def config(self):
        """Sizes."""
        return self._config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.issue = issue = Issue(config=config)
        m.submodules.pipeline = pipeline = Pipeline(config=config)
        m.submodules.vec = vec = VectorMemory(config=config)
        m.submodules.const = const = ConstantMemory(config=config)
        m.submodules.row = row = RowMemory(config=config)
        connect(m, flipped(self.engine), issue.engine)
        connect(m, pipeline.act, flipped(self.act))
        connect(m, pipeline.wgt, flipped(self.wgt))
        connect(m, pipeline.vec_write, vec.write)
        connect(m, pipeline.row_write, row.write)
        for memory, system, reads in ((vec, self.vec_system, issue.reads.vec),
                                      (const, self.const_system, issue.reads.const),
                                      (row, self.row_system, issue.reads.row)):
            connect(m, flipped(system), memory.system)
            m.d.comb += [memory.read.valid.eq(reads.valid), memory.read.address.eq(reads.address)]
        m.d.comb += [
            self.acc.valid.eq(issue.acc_valid), self.acc.address.eq(issue.acc_address),
            issue.acc_ready.eq(self.acc.ready), issue.retire.eq(pipeline.retire),
            pipeline.acc.eq(self.acc.data), pipeline.vec.eq(vec.read.data),
            pipeline.columns.eq(const.read.data), pipeline.row.eq(row.read.data),
        ]
        self._begin(m, issue, pipeline)
        return m

    def _begin(self, m, issue, pipeline):
        """A beat enters the pipeline the cycle before its data come from the memories."""
        start = issue.start
        for cycle in range(self._config.source_latency - READ_LATENCY):
            later = Signal(name=f"start_{cycle}")
            m.d.sync += later.eq(start)
            start = later
        m.d.comb += pipeline.start.eq(start)
        for name in ("beat", "number", "valid", "causal", "horizon"):
            m.d.comb += getattr(pipeline, name).eq(delayed(
                m, getattr(issue, name), self._config.source_latency - READ_LATENCY, name))
