"""Lowering of attention over the cache of keys and values."""
from collections.abc import Iterator
from dataclasses import dataclass

from systolith.hw.isa import (
    Addend,
    Command,
    Function,
    Output,
    Pass,
    Product,
    Reduce,
    Scalar,
    Scale,
    Sink,
)
from systolith.sw.compiler.fields import Fields, accumulators, spans
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.decoder.plan import EXP2_TABLE, LayerPlaces
from systolith.sw.decoder.rows import RowLowering
from systolith.sw.reference.decoder import QuantizedLayer
from systolith.sw.reference.numerics import split_scale


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Rows that are attended together: positions of one head, or, of a single position, the heads
    that share keys and values. ``slot`` is its place in its wave, ``wave`` 0 or 1."""

    kv: int
    head: int
    start: int
    rows: int
    keys: int
    wave: int
    slot: int


class AttentionLowering(RowLowering):
    """Writes scores, softmax and mixed values of one layer.

    Units come in waves: while the vector unit does the softmax of one, the array multiplies the
    scores of the next. Waves alternate between the halves of the accumulators.
    """

    def commands(self, layer: QuantizedLayer, places: LayerPlaces) -> Iterator[Command]:
        """Scores, softmax and mixed values of all units."""
        units = self._units()
        waves = [units[i:i + self.scratch.wave] for i in range(0, len(units), self.scratch.wave)]
        for step in range(len(waves) + 1):
            now = waves[step] if step < len(waves) else []
            before = waves[step - 1] if step else []
            yield from (self._score_product(places, unit) for unit in now)
            yield from (self._mix_product(places, unit) for unit in before)
            yield from map(self._maximum_pass, now)
            yield from (self._mix_pass(layer, unit) for unit in before)
            yield from (self._power_pass(layer, unit) for unit in now)

    @property
    def _single(self) -> bool:
        return self.scratch.length == 1

    @property
    def _group(self) -> int:
        return self.model.heads // self.model.kv_heads

    @property
    def _rows(self) -> int:
        """Most rows of a unit."""
        return self._group if self._single else self.scratch.block

    def _units(self) -> list[Unit]:
        if self._single:
            parts = [(kv, kv * self._group, 0, self._group) for kv in range(self.model.kv_heads)]
        else:
            parts = [(head // self._group, head, start, end - start)
                     for head in range(self.model.heads)
                     for start, end in spans(self.scratch.length, self.scratch.block)]
        return [Unit(kv=kv, head=head, start=start, rows=rows,
                     keys=self.position + (1 if self._single else start + rows),
                     wave=number // self.scratch.wave % 2, slot=number % self.scratch.wave)
                for number, (kv, head, start, rows) in enumerate(parts)]

    def _slot(self, unit: Unit) -> int:
        """Accumulators of a unit's scores; those of its mixed values come after them."""
        words = self._rows * (self.scratch.score_stride + self.scratch.mix_stride)
        return unit.wave * self.config.acc_half + unit.slot * words

    def _mix_slot(self, unit: Unit) -> int:
        return self._slot(unit) + self._rows * self.scratch.score_stride

    def _row(self, base: int, unit: Unit) -> int:
        """A unit's share of a buffer of the row constants."""
        return base + (unit.wave * self.scratch.wave + unit.slot) * self._rows

    def _p(self, unit: Unit) -> int:
        words = ceil_div(self.residents.context, self.config.rows)
        return self._row(0, unit) * words + self.scratch.p.base

    def _query(self, unit: Unit) -> int:
        length = self.scratch.length
        return self.scratch.q.base + unit.head * self.tiles.head_in * length + unit.start

    @property
    def _query_stride(self) -> int:
        return self.tiles.head_in if self._single else 1

    def _score_product(self, places: LayerPlaces, unit: Unit) -> Command:
        stride = self.model.kv_heads * self.tiles.head_in
        return Product(
            count0=self.tiles.head_in, act0_stride=self.scratch.length, wgt0_stride=1,
            count1=unit.rows, act1_stride=self._query_stride,
            acc1_stride=self.scratch.score_stride,
            count2=ceil_div(unit.keys, self.config.cols), wgt2_stride=stride, acc2_stride=1,
            act_base=self._query(unit),
            wgt_base=places.keys.base + unit.kv * self.tiles.head_in,
            acc_base=self._slot(unit))

    def _scores(self, unit: Unit) -> Fields:
        """A unit's scores as the source of a pass, masked."""
        return {**accumulators(self._slot(unit), self.scratch.score_stride), "rows": unit.rows,
                "valid": unit.keys, "position": self.position + unit.start,
                "causal": int(not self._single)}

    def _maximum_pass(self, unit: Unit) -> Command:
        return Pass(**self._scores(unit), beats=ceil_div(unit.keys, self.config.lanes),
                    reduce=Reduce.MAX, row_write=self._row(self.scratch.maxima.base, unit))

    def _power_pass(self, layer: QuantizedLayer, unit: Unit) -> Command:
        """Powers of two, their sum's reciprocal, and UINT8 probabilities in whole words."""
        words = ceil_div(unit.keys, self.config.rows)
        multiplier, shift = split_scale(layer.score_words[unit.kv])
        return Pass(
            **self._scores(unit), beats=words * self.config.rows // self.config.lanes,
            addend=Addend.ROW, row_read=self._row(self.scratch.maxima.base, unit),
            scale=Scale.TENSOR, multiplier=int(multiplier), shift=int(shift),
            function=Function.EXP2, table=EXP2_TABLE, reduce=Reduce.SUM,
            scalar=Scalar.RECIPROCAL, row_write=self._row(self.scratch.sums.base, unit), narrow=1,
            output=Output.UINT8, sink=Sink.ACT, sink_base=self._p(unit), sink_row_stride=words,
            sink_tile_stride=1)

    def _mix_product(self, places: LayerPlaces, unit: Unit) -> Command:
        words, tiles = ceil_div(unit.keys, self.config.rows), self.residents.value_tiles
        return Product(
            left_unsigned=1, count0=words, act0_stride=1, wgt0_stride=1, count1=unit.rows,
            act1_stride=words, acc1_stride=self.scratch.mix_stride, count2=self.tiles.head_out,
            wgt2_stride=tiles, acc2_stride=1, act_base=self._p(unit),
            wgt_base=places.values.base + unit.kv * self.tiles.head_out * tiles,
            acc_base=self._mix_slot(unit))

    def _mix_pass(self, layer: QuantizedLayer, unit: Unit) -> Command:
        """Mixed values over the rows' sums, in the place of the queries."""
        multiplier, shift = split_scale(layer.mix_words[unit.kv])
        return Pass(
            **accumulators(self._mix_slot(unit), self.scratch.mix_stride), rows=unit.rows,
            beats=self.tiles.head_in * self.config.rows // self.config.lanes,
            valid=self.model.head_dim, scale=Scale.TENSOR, multiplier=int(multiplier),
            shift=int(shift), row_scale=1, row_read=self._row(self.scratch.sums.base, unit),
            output=Output.INT8, sink=Sink.ACT, sink_base=self._query(unit),
            sink_row_stride=self._query_stride, sink_tile_stride=self.scratch.length)
