"""The vector unit: engine of passes and table loads."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from systolith.hw import isa
from systolith.hw.config import Config
from systolith.hw.interfaces import (
    AccumulatorReadPort,
    ActivationWritePort,
    EnginePort,
    SystemPort,
    WeightWritePort,
)
from systolith.hw.vector.addend import ADDEND_LATENCY, Addend
from systolith.hw.vector.combine import COMBINE_LATENCY, Combine
from systolith.hw.vector.constant_memory import ConstantMemory
from systolith.hw.vector.delay import delayed, register
from systolith.hw.vector.function import FUNCTION_LATENCY, FunctionTables
from systolith.hw.vector.issue import Issue
from systolith.hw.vector.reduce import Reduce, reduce_latency
from systolith.hw.vector.retire import Retire
from systolith.hw.vector.row_memory import RowMemory
from systolith.hw.vector.saturate import SATURATE_LATENCY, Saturate
from systolith.hw.vector.scalar import SCALAR_LATENCY, ScalarUnit
from systolith.hw.vector.scale import SCALE_LATENCY, Scale
from systolith.hw.vector.scale_word import SCALE_WORD, SCALE_WORD_LATENCY, ScaleWords
from systolith.hw.vector.sink import SINK_LATENCY, Sink
from systolith.hw.vector.validity import VALIDITY_LATENCY, Validity
from systolith.hw.vector.vector_memory import VectorMemory
from systolith.hw.vector.work import COMMAND_LAYOUT

# Cycles after a beat's start in which its data are at the input of each stage. Memories answer in
# cycle 1, and what they gave is in registers in cycle 2.
ADDEND_AT = 2
SCALE_AT = ADDEND_AT + SCALE_WORD_LATENCY
FUNCTION_AT = SCALE_AT + SCALE_LATENCY
COMBINE_AT = FUNCTION_AT + FUNCTION_LATENCY
RESULT_AT = COMBINE_AT + COMBINE_LATENCY
#: Cycles from a beat's start to the cycle in which its result is written.
SINK_LATENCY_TOTAL = RESULT_AT + SATURATE_LATENCY + SINK_LATENCY

# Fields of a beat that a stage and all that follow it need.
SINK_FIELDS = ("sink", "sink_address", "sink_place", "bank")
RESULT_FIELDS = (*SINK_FIELDS, "narrow", "output", "reduce", "scalar", "first", "last", "final",
                 "row_address")
COMBINE_FIELDS = (*RESULT_FIELDS, "combine")
FUNCTION_FIELDS = (*COMBINE_FIELDS, "function", "table", "load", "entry")


def reduction_latency(lanes):
    """Cycles from the start of a row's last beat to the cycle in which its reduction is written."""
    return RESULT_AT + reduce_latency(lanes) + SCALAR_LATENCY


class VectorUnit(wiring.Component):
    """Executes ``isa.Pass`` and ``isa.Table``: one beat of ``lanes`` elements a cycle.

    Nothing stalls after a beat has started; it starts when the accumulators accept its read (beats
    of source VEC at once). A table load takes 64 cycles. Results are written
    :data:`SINK_LATENCY_TOTAL` cycles after a beat's start, reductions :func:`reduction_latency`
    cycles after that of the row's last beat; ``retire`` comes in the cycle of a command's last
    write, so a command that starts in the next cycle sees it.

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
        issue = self._issue(m)
        self._memories(m, issue)
        self._valid_chain(m, issue)
        beat = register(m, issue.beat, "beat_1")
        row = register(m, self._row.read.data, "row_constant")
        columns = register(m, self._const.read.data, "columns")
        sums = self._addend(m, beat, columns, row)
        scaled = self._scale(m, sums, self._scale_words(m, beat, row))
        beat = self._later(m, beat, FUNCTION_FIELDS, FUNCTION_AT - 1, "function_beat")
        value, own = self._function(m, beat, scaled)
        beat = self._later(m, beat, COMBINE_FIELDS, FUNCTION_LATENCY, "combine_beat")
        result = self._combine(m, beat, value, own)
        beat = self._later(m, beat, RESULT_FIELDS, COMBINE_LATENCY, "result_beat")
        count = self._count(m, issue)
        self._results(m, beat, count, result)
        self._reductions(m, beat, count, result)
        self._retire(m, beat)
        return m

    def _later(self, m, beat, names, cycles, name):
        """Some fields of a beat, a number of cycles later."""
        fields = beat.shape().members
        kept = Signal(data.StructLayout({field: fields[field] for field in names}), name=name)
        m.d.comb += [kept[field].eq(beat[field]) for field in names]
        return delayed(m, kept, cycles, name)

    def _issue(self, m):
        m.submodules.issue = issue = Issue(config=self._config)
        connect(m, flipped(self.engine), issue.engine)
        m.d.comb += [self.acc.valid.eq(issue.acc_valid), self.acc.address.eq(issue.acc_address),
                     issue.acc_ready.eq(self.acc.ready)]
        self._issue_port = issue
        return issue

    def _memories(self, m, issue):
        m.submodules.vec = self._vec = VectorMemory(config=self._config)
        m.submodules.const = self._const = ConstantMemory(config=self._config)
        m.submodules.row = self._row = RowMemory(config=self._config)
        for memory, system, reads in ((self._vec, self.vec_system, issue.reads.vec),
                                      (self._const, self.const_system, issue.reads.const),
                                      (self._row, self.row_system, issue.reads.row)):
            connect(m, flipped(system), memory.system)
            m.d.comb += [memory.read.valid.eq(reads.valid), memory.read.address.eq(reads.address)]

    def _valid_chain(self, m, issue):
        """``self._valid[c]``: a beat started ``c`` cycles ago. The only state with a reset."""
        self._valid = [issue.start]
        for cycle in range(1, SINK_LATENCY_TOTAL + 1):
            valid = Signal(name=f"valid_{cycle}")
            m.d.sync += valid.eq(self._valid[-1])
            self._valid.append(valid)

    def _source(self, m, beat):
        """The beat's elements out of the word that was read."""
        config = self._config
        part = self.acc.data.as_value().word_select(beat.place, 32 * config.lanes)
        source = Signal(data.ArrayLayout(signed(32), config.lanes), reset_less=True)
        with m.If(beat.source == isa.Source.ACC):
            m.d.sync += source.eq(part)
        with m.Else():
            m.d.sync += [source[lane].eq(self._vec.read.data[lane]) for lane in range(config.lanes)]
        return source

    def _addend(self, m, beat, columns, row):
        m.submodules.addend = addend = Addend(lanes=self._config.lanes)
        m.d.comb += [addend.x.eq(self._source(m, beat)), addend.row.eq(row),
                     addend.mode.eq(register(m, beat.addend, "addend_mode"))]
        m.d.comb += [addend.column[lane].eq(columns[lane].bias)
                     for lane in range(self._config.lanes)]
        return delayed(m, addend.y, SCALE_AT - ADDEND_AT - ADDEND_LATENCY, "sums")

    def _scale_words(self, m, beat, row):
        """The first factor (alone: the word 1) and the row's; a row's alone is the first."""
        m.submodules.scale_words = words = ScaleWords(lanes=self._config.lanes)
        second = row[:len(SCALE_WORD.const({}).as_value())]
        m.d.comb += [words.second.eq(second), words.both.eq(register(
            m, beat.row_scale & (beat.scale != isa.Scale.NONE), "both"))]
        for lane, columns in enumerate(self._const.read.data):
            first = Signal(SCALE_WORD, name=f"first_{lane}", reset_less=True)
            m.d.comb += words.first[lane].eq(first)
            with m.Switch(beat.scale):
                with m.Case(isa.Scale.TENSOR):
                    m.d.sync += first.eq(beat.word)
                with m.Case(isa.Scale.COLUMN):
                    m.d.sync += first.eq(columns.scale)
                with m.Default():
                    m.d.sync += first.eq(Mux(beat.row_scale, self._row.read.data[:len(second)], 1))
        return words.word

    def _scale(self, m, sums, words):
        m.submodules.scale = scale = Scale(lanes=self._config.lanes)
        m.d.comb += [scale.x.eq(sums), scale.word.eq(words)]
        return scale.y

    def _function(self, m, beat, scaled):
        config = self._config
        m.submodules.function = function = FunctionTables(lanes=config.lanes, tables=config.tables)
        pairs = Cat(Cat(scaled[lane][:16], scaled[lane + 1][:16])
                    for lane in range(0, config.lanes, 2))
        place = beat.entry[:exact_log2(config.lanes // 2)]
        m.d.comb += [
            function.x.eq(scaled), function.mode.eq(beat.function),
            function.table.eq(beat.table), function.entry.eq(beat.entry),
            function.load.eq(beat.load & self._valid[FUNCTION_AT]),
            function.pair.eq(pairs.word_select(place, 32) if len(place) else pairs),
        ]
        return function.y, function.own

    def _combine(self, m, beat, value, own):
        m.submodules.combine = combine = Combine(lanes=self._config.lanes)
        m.d.comb += [combine.x.eq(value), combine.own.eq(own), combine.mode.eq(beat.combine),
                     combine.stream.eq(delayed(m, self._vec.read.data, COMBINE_AT - 1, "stream"))]
        return combine.y

    def _count(self, m, issue):
        """How many lanes of the beat are valid, in step with the result."""
        m.submodules.validity = validity = Validity(lanes=self._config.lanes)
        m.d.comb += [validity.beat.eq(register(m, issue.number, "number")),
                     validity.valid.eq(register(m, issue.valid, "valid_elements")),
                     validity.causal.eq(register(m, issue.causal, "causal")),
                     validity.horizon.eq(register(m, issue.horizon, "horizon"))]
        return delayed(m, validity.count, RESULT_AT - 1 - VALIDITY_LATENCY, "count")

    def _results(self, m, beat, count, result):
        m.submodules.saturate = saturate = Saturate(lanes=self._config.lanes)
        m.submodules.sink = sink = Sink(config=self._config)
        at_sink = self._later(m, beat, SINK_FIELDS, SATURATE_LATENCY, "sink_beat")
        m.d.comb += [
            saturate.x.eq(result), saturate.count.eq(count), saturate.narrow.eq(beat.narrow),
            saturate.output.eq(beat.output), sink.x.eq(saturate.y),
            sink.valid.eq(self._valid[RESULT_AT + SATURATE_LATENCY]), sink.kind.eq(at_sink.sink),
            sink.address.eq(at_sink.sink_address), sink.place.eq(at_sink.sink_place),
            sink.bank.eq(at_sink.bank),
        ]
        connect(m, sink.act, flipped(self.act))
        connect(m, sink.wgt, flipped(self.wgt))
        connect(m, sink.vec, self._vec.write)

    def _reductions(self, m, beat, count, result):
        latency = reduce_latency(self._config.lanes)
        m.submodules.reduce = reduce = Reduce(lanes=self._config.lanes)
        m.submodules.scalar = scalar = ScalarUnit()
        valid = self._valid[RESULT_AT]
        writes = Signal(latency + SCALAR_LATENCY)
        m.d.sync += writes.eq(Cat(valid & beat.last & (beat.reduce != isa.Reduce.NONE),
                                  writes[:-1]))
        m.d.comb += [
            reduce.x.eq(result), reduce.count.eq(count), reduce.mode.eq(beat.reduce),
            reduce.valid.eq(valid), reduce.first.eq(beat.first),
            scalar.x.eq(reduce.y),
            scalar.kind.eq(delayed(m, beat.scalar, latency, "scalar_kind")),
            self._row.write.valid.eq(writes[-1]), self._row.write.data.eq(scalar.y),
            self._row.write.address.eq(
                delayed(m, beat.row_address, latency + SCALAR_LATENCY, "row_address")),
        ]

    def _retire(self, m, beat):
        late = reduction_latency(self._config.lanes) - SINK_LATENCY_TOTAL
        m.submodules.retire = retire = Retire(late_cycles=late)
        cycles = SINK_LATENCY_TOTAL - RESULT_AT
        final = delayed(m, beat.final, cycles, "final")
        m.d.comb += [
            retire.done.eq(self._valid[SINK_LATENCY_TOTAL] & final),
            retire.reduces.eq(delayed(m, beat.reduce != isa.Reduce.NONE, cycles, "reduces")),
            self._issue_port.retire.eq(retire.retire),
        ]
