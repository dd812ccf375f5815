"""The sink: writes results into activation, weight or vector memory."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw import isa
from systolith.hw.interfaces import ActivationWritePort, WeightWritePort
from systolith.hw.vector.vector_memory import VectorWrite
from systolith.hw.vector.work import fold_bits, place_bits

#: Cycles from result to the write.
SINK_LATENCY = 1


class Sink(wiring.Component):
    """Turns a beat of results into one write. Latency :data:`SINK_LATENCY`, one beat a cycle.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    valid : In(1)
        There is a beat.
    kind : In(isa.Sink)
        Where it goes.
    address : In(16)
        Word.
    place : In(place_bits(config))
        Which ``lanes`` bytes of the word, or which ``lanes`` banks for ``WGT_LANES``.
    bank : In(fold_bits(config))
        Bank for ``WGT_ROWS``, byte lane for ``WGT_LANES``.
    x : In(lanes of signed 16)
        Results. The 8-bit memories get the lower bytes.
    act, wgt, vec : Out
        Write ports.
    """

    def __init__(self, *, config):
        self._config = config
        super().__init__({
            "valid": In(1), "kind": In(3), "address": In(16), "place": In(place_bits(config)),
            "bank": In(fold_bits(config)), "x": In(data.ArrayLayout(signed(16), config.lanes)),
            "act": Out(ActivationWritePort(config)), "wgt": Out(WeightWritePort(config)),
            "vec": Out(VectorWrite(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        address = Signal(16, reset_less=True)
        results = Signal(data.ArrayLayout(signed(16), config.lanes), reset_less=True)
        act_valid, wgt_valid, vec_valid = Signal(), Signal(), Signal()
        lanes_sink = self.kind == isa.Sink.WGT_LANES
        m.d.sync += [
            address.eq(self.address), results.eq(self.x),
            act_valid.eq(self.valid & (self.kind == isa.Sink.ACT)),
            wgt_valid.eq(self.valid & ((self.kind == isa.Sink.WGT_ROWS) | lanes_sink)),
            vec_valid.eq(self.valid & (self.kind == isa.Sink.VEC)),
        ]
        for port, valid in ((self.act, act_valid), (self.wgt, wgt_valid), (self.vec, vec_valid)):
            m.d.comb += [port.valid.eq(valid), port.address.eq(address)]
        for lane in range(config.lanes):
            m.d.comb += [self.act.data[lane].eq(results[lane]),
                         self.wgt.data[lane].eq(results[lane]),
                         self.vec.data[lane].eq(results[lane])]
        self._masks(m, lanes_sink)
        return m

    def _masks(self, m, transposed):
        rows, cols, lanes = self._config.rows, self._config.cols, self._config.lanes
        row_group, col_group = Signal(rows), Signal(cols)
        one_row, one_col = Signal(rows), Signal(cols)
        act_mask = Signal(rows, reset_less=True)
        bank_mask = Signal(rows, reset_less=True)
        lane_mask = Signal(cols, reset_less=True)
        wgt_transposed = Signal(reset_less=True)
        m.d.comb += [
            row_group.eq(Cat(self.place == row // lanes for row in range(rows))),
            col_group.eq(Cat(self.place == col // lanes for col in range(cols))),
            one_row.eq(Cat(self.bank == row for row in range(rows))),
            one_col.eq(Cat(self.bank == col for col in range(cols))),
            self.act.mask.eq(act_mask), self.wgt.bank_mask.eq(bank_mask),
            self.wgt.lane_mask.eq(lane_mask), self.wgt.transposed.eq(wgt_transposed),
        ]
        m.d.sync += [
            act_mask.eq(row_group), wgt_transposed.eq(transposed),
            bank_mask.eq(Mux(transposed, row_group, one_row)),
            lane_mask.eq(Mux(transposed, one_col, col_group)),
        ]
