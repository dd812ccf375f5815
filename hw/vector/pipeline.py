"""The pipeline of the vector unit: all that happens to a beat after it has started."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from systolith.hw import isa
from systolith.hw.interfaces import ActivationWritePort, WeightWritePort
from systolith.hw.vector.addend import ADDEND_LATENCY, Addend
from systolith.hw.vector.combine import COMBINE_LATENCY, Combine
from systolith.hw.vector.constant_memory import COLUMN
from systolith.hw.vector.delay import delayed, register
from systolith.hw.vector.function import FUNCTION_LATENCY, FunctionTables
from systolith.hw.vector.issue import beat_layout
from systolith.hw.vector.reduce import Reduce, reduce_latency
from systolith.hw.vector.retire import Retire
from systolith.hw.vector.row_memory import RowWrite
from systolith.hw.vector.saturate import SATURATE_LATENCY, Saturate
from systolith.hw.vector.scalar import ScalarUnit
from systolith.hw.vector.scale import Scale
from systolith.hw.vector.scale_word import SCALE_WORD, ScaleWords
from systolith.hw.vector.sink import Sink
from systolith.hw.vector.timing import (
    ADDEND_AT,
    COMBINE_AT,
    COMBINE_FIELDS,
    FUNCTION_AT,
    FUNCTION_FIELDS,
    RESULT_AT,
    RESULT_FIELDS,
    SCALE_AT,
    SINK_AT,
    SINK_FIELDS,
    WRITE_AT,
    reduction_at,
)
from systolith.hw.vector.validity import VALIDITY_LATENCY, Validity
from systolith.hw.vector.vector_memory import VectorWrite


class Pipeline(wiring.Component):
    """Source, addend, scale, function, combination, reduction, saturation, sink.

    One beat a cycle, never stalled. Results are written ``WRITE_AT`` cycles after a beat's start,
    reductions ``reduction_at(config)`` cycles after that of the row's last beat.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    start : In(1)
        A beat starts.
    beat : In(beat_layout(config))
        What to do with it.
    number, valid, causal, horizon : In
        Which of its elements are valid, see :class:`Validity`.
    acc : In(cols of signed 32), vec : In(lanes of signed 16)
        Words that accumulators and vector memory give, one cycle after the start.
    columns : In(lanes of COLUMN), row : In(signed 32)
        Constants, one cycle after the start.
    act, wgt, vec_write, row_write : Out
        Writes.
    retire : Out(1)
        All writes of a command have been done with those of this cycle.
    """

    def __init__(self, *, config):
        self._config = config
        super().__init__({
            "start": In(1), "beat": In(beat_layout(config)), "number": In(16), "valid": In(16),
            "causal": In(1), "horizon": In(17), "acc": In(data.ArrayLayout(32, config.cols)),
            "vec": In(data.ArrayLayout(signed(16), config.lanes)),
            "columns": In(data.ArrayLayout(COLUMN, config.lanes)), "row": In(signed(32)),
            "act": Out(ActivationWritePort(config)), "wgt": Out(WeightWritePort(config)),
            "vec_write": Out(VectorWrite(config)), "row_write": Out(RowWrite(config)),
            "retire": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        self._valid_chain(m)
        beat = register(m, self.beat, "beat_1")
        row = register(m, self.row, "row_constant")
        columns = register(m, self.columns, "column_constants")
        sums = self._addend(m, beat, columns, row)
        scaled = self._scale(m, sums, self._scale_words(m, beat, row))
        beat = self._later(m, beat, FUNCTION_FIELDS, FUNCTION_AT - 1, "function_beat")
        value, narrow, own = self._function(m, beat, scaled)
        beat = self._later(m, beat, COMBINE_FIELDS, FUNCTION_LATENCY, "combine_beat")
        result = self._combine(m, beat, value, narrow, own)
        beat = self._later(m, beat, RESULT_FIELDS, COMBINE_LATENCY, "result_beat")
        count = self._count(m)
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

    def _valid_chain(self, m):
        """``self._valid[c]``: a beat started ``c`` cycles ago. The only state with a reset."""
        self._valid = [self.start]
        for cycle in range(1, WRITE_AT + 1):
            valid = Signal(name=f"valid_{cycle}")
            m.d.sync += valid.eq(self._valid[-1])
            self._valid.append(valid)

    def _source(self, m, beat):
        """The beat's elements out of the word that was read."""
        config = self._config
        part = self.acc.as_value().word_select(beat.place, 32 * config.lanes)
        source = Signal(data.ArrayLayout(signed(32), config.lanes), reset_less=True)
        with m.If(beat.source == isa.Source.ACC):
            m.d.sync += source.eq(part)
        with m.Else():
            m.d.sync += [source[lane].eq(self.vec[lane]) for lane in range(config.lanes)]
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
        for lane, columns in enumerate(self.columns):
            first = Signal(SCALE_WORD, name=f"first_{lane}", reset_less=True)
            m.d.comb += words.first[lane].eq(first)
            with m.Switch(beat.scale):
                with m.Case(isa.Scale.TENSOR):
                    m.d.sync += first.eq(beat.word)
                with m.Case(isa.Scale.COLUMN):
                    m.d.sync += first.eq(columns.scale)
                with m.Default():
                    m.d.sync += first.eq(Mux(beat.row_scale, self.row[:len(second)], 1))
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
        return function.y, function.narrow, function.own

    def _combine(self, m, beat, value, narrow, own):
        m.submodules.combine = combine = Combine(lanes=self._config.lanes)
        m.d.comb += [combine.x.eq(value), combine.narrow.eq(narrow), combine.own.eq(own),
                     combine.mode.eq(beat.combine),
                     combine.stream.eq(delayed(m, self.vec, COMBINE_AT - 1, "stream"))]
        return combine.y

    def _count(self, m):
        """How many lanes of the beat are valid, in step with the result."""
        m.submodules.validity = validity = Validity(lanes=self._config.lanes)
        m.d.comb += [validity.beat.eq(register(m, self.number, "number")),
                     validity.valid.eq(register(m, self.valid, "valid_elements")),
                     validity.causal.eq(register(m, self.causal, "causal")),
                     validity.horizon.eq(register(m, self.horizon, "horizon"))]
        return delayed(m, validity.count, RESULT_AT - 1 - VALIDITY_LATENCY, "count")

    def _results(self, m, beat, count, result):
        m.submodules.saturate = saturate = Saturate(lanes=self._config.lanes)
        m.submodules.sink = sink = Sink(config=self._config)
        at_sink = self._later(m, beat, SINK_FIELDS, SATURATE_LATENCY, "sink_beat")
        m.d.comb += [
            saturate.x.eq(result), saturate.count.eq(count), saturate.narrow.eq(beat.narrow),
            saturate.output.eq(beat.output), sink.x.eq(saturate.y),
            sink.valid.eq(self._valid[SINK_AT]), sink.kind.eq(at_sink.sink),
            sink.address.eq(at_sink.sink_address), sink.place.eq(at_sink.sink_place),
            sink.bank.eq(at_sink.bank),
        ]
        connect(m, sink.act, flipped(self.act))
        connect(m, sink.wgt, flipped(self.wgt))
        connect(m, sink.vec, flipped(self.vec_write))

    def _reductions(self, m, beat, count, result):
        config = self._config
        latency = reduce_latency(config.lanes)
        m.submodules.reduce = reduce = Reduce(lanes=config.lanes)
        m.submodules.scalar = scalar = ScalarUnit(latency=config.scalar_cycles)
        valid = self._valid[RESULT_AT]
        writes = Signal(reduction_at(config) - RESULT_AT)
        m.d.sync += writes.eq(Cat(valid & beat.last & (beat.reduce != isa.Reduce.NONE),
                                  writes[:-1]))
        m.d.comb += [
            reduce.x.eq(result), reduce.count.eq(count), reduce.mode.eq(beat.reduce),
            reduce.valid.eq(valid), reduce.first.eq(beat.first),
            scalar.x.eq(reduce.y),
            scalar.kind.eq(delayed(m, beat.scalar, latency, "scalar_kind")),
            self.row_write.valid.eq(writes[-1]), self.row_write.data.eq(scalar.y),
            self.row_write.address.eq(
                delayed(m, beat.row_address, len(writes), "row_address")),
        ]

    def _retire(self, m, beat):
        late = reduction_at(self._config) - WRITE_AT
        m.submodules.retire = retire = Retire(late_cycles=late)
        cycles = WRITE_AT - RESULT_AT
        final = delayed(m, beat.final, cycles, "final")
        m.d.comb += [
            retire.done.eq(self._valid[WRITE_AT] & final),
            retire.reduces.eq(delayed(m, beat.reduce != isa.Reduce.NONE, cycles, "reduces")),
            self.retire.eq(retire.retire),
        ]
