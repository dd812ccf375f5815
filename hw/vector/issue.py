"""The issue stage: holds a command, walks its beats, checks and starts each."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw import isa
from systolith.hw.interfaces import EnginePort
from systolith.hw.vector.address import AddressGenerator
from systolith.hw.vector.scale_word import SCALE_WORD
from systolith.hw.vector.work import COMMAND_LAYOUT, Work, fold_bits, place_bits, work_layout


def beat_layout(config):
    """What travels down the pipeline with each beat.

    ``place``: part of the source's word; ``word``: the command's scale word; ``entry``: number of
    the beat, modulo 64; ``first``, ``last``: of its row; ``final``: of its command; ``bank``: bank
    or byte lane of a weight sink; addresses of sink and reduction.
    """
    places = place_bits(config)
    return data.StructLayout({
        "source": 1, "place": places, "addend": 2, "scale": 2, "row_scale": 1, "word": SCALE_WORD,
        "function": 2, "table": 1, "load": 1, "entry": 6, "combine": 3, "reduce": 3, "scalar": 3,
        "narrow": 1, "output": 2, "sink": 3, "first": 1, "last": 1, "final": 1,
        "sink_address": 16, "sink_place": places, "bank": fold_bits(config), "row_address": 16})


class Reads(wiring.Signature):
    """Reads of the vector unit's own memories for a beat, at word addresses."""

    def __init__(self):
        super().__init__({name: Out(wiring.Signature({"valid": Out(1), "address": Out(16)}))
                          for name in ("vec", "const", "row")})


class Issue(wiring.Component):
    """Starts one beat a cycle, as long as the accumulators answer.

    The next command is taken in the cycle in which the last beat of the former starts. All
    addresses of a beat are checked before it starts; a fault keeps it and all that follows from
    starting until reset, with ``engine.error`` high.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    engine : In(EnginePort)
        Commands, each shown from the cycle before it is offered; ``retire`` is given by ``retire``.
    retire : In(1)
        A command has been finished.
    acc_valid, acc_address, acc_ready
        Request to the accumulators: a beat of source ACC starts when it is accepted.
    reads : Out(Reads)
        Reads of the beat.
    start : Out(1)
        A beat starts.
    beat : Out(beat_layout(config))
        The beat.
    number, valid, causal, horizon : Out
        The beat's number in its row, and what decides which elements are valid.
    """

    def __init__(self, *, config):
        self._config = config
        super().__init__({
            "engine": In(EnginePort(COMMAND_LAYOUT)), "retire": In(1),
            "acc_valid": Out(1), "acc_ready": In(1), "acc_address": Out(range(config.acc_depth)),
            "reads": Out(Reads()), "start": Out(1), "beat": Out(beat_layout(config)),
            "number": Out(16), "valid": Out(16), "causal": Out(1), "horizon": Out(17),
        })

    def elaborate(self, platform):
        m = Module()
        self._work = Signal(work_layout(self._config), reset_less=True)
        # The next state is that of a new command, or the next beat's; and there is a next state.
        # Whether a beat starts is known last: it only decides whether registers go on.
        self._fresh, self._goes = Signal(), Signal()
        self._final = Signal()
        self._row_end = Signal(reset_less=True)
        next_work = self._intake(m)
        with m.If(self._goes & self._fresh):
            m.d.sync += self._work.eq(next_work)
        self._loops(m, next_work)
        self._addresses(m, next_work)
        self._control(m)
        self._request(m)
        self._describe(m)
        return m

    def _intake(self, m):
        m.submodules.work = work = Work(config=self._config)
        m.d.comb += work.command.eq(self.engine.command.payload)
        # In registers, as the sequencer shows a command a cycle before it offers it.
        next_work = Signal(work_layout(self._config), reset_less=True)
        for part in (work.fields, work.uses, work.checks):
            for name, _ in part.shape():
                m.d.sync += next_work[name].eq(part[name])
        return next_work

    def _loops(self, m, next_work):
        """Counters of beats and rows, the causal horizon, the bank of a folded row.

        Whether a count has come to its end is kept in a bit of its own, set in time: the start of
        a beat depends on it.
        """
        work = self._work
        self._number, beats_left, rows_left = (Signal(16, name=name, reset_less=True)
                                               for name in ("number", "beats_left", "rows_left"))
        last_row = Signal(reset_less=True)
        one_beat = Signal(reset_less=True)  # of every row
        self._horizon = horizon = Signal(17, reset_less=True)
        self._bank = bank = Signal(fold_bits(self._config), reset_less=True)
        # The bank is not the last of its fold: the next row goes to the same word.
        self._stays = Signal(reset_less=True)
        new_bank = Signal.like(bank)
        fold_last = Mux(self._fresh, next_work.fold_last, work.fold_last)
        m.d.comb += new_bank.eq(Mux(self._fresh, next_work.position, bank + 1) & fold_last)
        m.d.comb += self._final.eq(self._row_end & last_row)
        with m.If(self._goes):
            with m.If(self._fresh):
                m.d.sync += [self._number.eq(0), beats_left.eq(next_work.beats),
                             one_beat.eq(next_work.beats == 1),
                             self._row_end.eq(next_work.beats == 1),
                             rows_left.eq(next_work.rows), last_row.eq(next_work.rows == 1),
                             horizon.eq(next_work.position + 1),
                             bank.eq(new_bank), self._stays.eq(new_bank != fold_last)]
            with m.Elif(self._row_end):
                m.d.sync += [self._number.eq(0), beats_left.eq(work.beats),
                             self._row_end.eq(one_beat), rows_left.eq(rows_left - 1),
                             last_row.eq(rows_left == 2), horizon.eq(horizon + 1),
                             bank.eq(new_bank), self._stays.eq(new_bank != fold_last)]
            with m.Else():
                m.d.sync += [self._number.eq(self._number + 1), beats_left.eq(beats_left - 1),
                             self._row_end.eq(beats_left == 2)]

    def _addresses(self, m, next_work):
        work = self._work
        config = self._config
        places = place_bits(config)
        relevant = self._relevant(m, next_work)
        self._source = self._generator(
            m, "source", next_work.source_base, work.source_row_stride, work.source_tile_stride,
            (config.acc_depth, config.vec_depth), relevant, places, work.source_last)
        self._sink = self._generator(
            m, "sink", next_work.sink_base, Mux(self._stays, 0, work.sink_row_stride),
            work.sink_tile_stride, (config.act_depth, config.vec_depth, config.wgt_depth),
            relevant, places, work.sink_last)
        self._stream = self._generator(m, "stream", next_work.stream_base,
                                       work.stream_row_stride, 1, (config.vec_depth,), relevant)
        self._const = self._generator(m, "const", next_work.const_base, 0, 1,
                                      (config.const_depth,), relevant)
        self._row_read = self._generator(m, "row_read", next_work.row_read, 1, 0,
                                         (config.row_depth,), relevant)
        self._row_write = self._generator(m, "row_write", next_work.row_write, 1, 0,
                                          (config.row_depth,), relevant)

    def _relevant(self, m, next_work):
        """Which memory each address is for: of the next command while it is taken."""
        def uses(work):
            weights = (work.sink == isa.Sink.WGT_ROWS) | (work.sink == isa.Sink.WGT_LANES)
            from_vec = work.source == isa.Source.VEC
            return {
                "source": Cat(~from_vec, from_vec),
                "sink": Cat(work.sink == isa.Sink.ACT, work.sink == isa.Sink.VEC, weights),
                "stream": work.uses_stream, "const": work.uses_column,
                "row_read": work.uses_row, "row_write": work.reduce != isa.Reduce.NONE}

        relevant = {}
        for name, value in uses(next_work).items():
            kept = Signal(len(value), name=f"{name}_kept", reset_less=True)
            relevant[name] = Signal(len(value), name=f"{name}_relevant")
            m.d.comb += relevant[name].eq(Mux(self._fresh, value, kept))
            with m.If(self._goes):
                m.d.sync += kept.eq(relevant[name])
        return relevant

    def _generator(self, m, name, base, row_step, tile_step, depths, relevant, places=1,
                   last_place=0):
        m.submodules[name] = generator = AddressGenerator(place_bits=places, depths=depths)
        m.d.comb += [
            generator.load.eq(self._fresh), generator.base.eq(base),
            generator.advance.eq(self._goes), generator.row_end.eq(self._row_end),
            generator.row_step.eq(row_step), generator.tile_step.eq(tile_step),
            generator.last_place.eq(last_place), generator.relevant.eq(relevant[name]),
        ]
        return generator

    def _outside(self):
        """Whether an address that the beat uses is past the end of its memory."""
        return Cat(generator.past for generator in (
            self._source, self._sink, self._stream, self._const, self._row_read,
            self._row_write)).any()

    def _control(self, m):
        engine, work = self.engine, self._work
        active, faulty, allowed, ready = Signal(), Signal(), Signal(), Signal()
        from_acc = work.source == isa.Source.ACC
        m.d.comb += [
            faulty.eq(work.fault | self._outside()),
            allowed.eq(active & ~engine.halt & ~faulty),
            self.acc_valid.eq(allowed & from_acc),
            self.start.eq(allowed & (~from_acc | self.acc_ready)),
            ready.eq(~engine.halt & ~active),
            engine.command.ready.eq(ready | (self.start & self._final)),
            self._fresh.eq(~active | self._final),
            self._goes.eq(self.start | (ready & engine.command.valid)),
            engine.active.eq(active), engine.stall.eq(active & ~self.start),
            engine.error.eq(active & ~engine.halt & faulty),
            engine.cause.eq(Mux(work.fault, work.cause, isa.Cause.ADDRESS)),
            engine.retire.eq(self.retire),
        ]
        with m.If(self._goes & self._fresh):
            m.d.sync += active.eq(engine.command.valid)

    def _request(self, m):
        work = self._work
        from_vec = work.source == isa.Source.VEC
        m.d.comb += [
            self.acc_address.eq(self._source.address),
            self.reads.vec.valid.eq(self.start & (from_vec | work.uses_stream)),
            self.reads.vec.address.eq(Mux(from_vec, self._source.address, self._stream.address)),
            self.reads.const.valid.eq(self.start & work.uses_column),
            self.reads.const.address.eq(self._const.address),
            self.reads.row.valid.eq(self.start & work.uses_row),
            self.reads.row.address.eq(self._row_read.address),
        ]

    def _describe(self, m):
        work, beat = self._work, self.beat
        for name in ("source", "addend", "scale", "row_scale", "function", "table", "load",
                     "combine", "reduce", "scalar", "narrow", "output", "sink"):
            m.d.comb += beat[name].eq(work[name])
        m.d.comb += [
            beat.word.multiplier.eq(work.multiplier), beat.word.shift.eq(work.shift),
            beat.place.eq(self._source.place), beat.entry.eq(self._number),
            beat.first.eq(self._number == 0), beat.last.eq(self._row_end),
            beat.final.eq(self._final), beat.sink_address.eq(self._sink.address),
            beat.sink_place.eq(self._sink.place), beat.bank.eq(self._bank),
            beat.row_address.eq(self._row_write.address),
            self.number.eq(self._number), self.valid.eq(work.valid),
            self.causal.eq(work.causal), self.horizon.eq(self._horizon),
        ]
