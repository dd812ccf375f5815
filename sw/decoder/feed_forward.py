"""Lowering of the feed-forward network: gate, up, their product as INT8 rows, down."""
from collections.abc import Iterator

from systolith.hw.isa import Combine, Command, Function, Output, Pass, Product, Reduce, Scalar, Sink
from systolith.sw.compiler.fields import Span, tensor
from systolith.sw.decoder.plan import SIGMOID_TABLE, LayerPlaces
from systolith.sw.decoder.rows import RowLowering
from systolith.sw.reference.decoder import MAGNITUDE_BITS, ROW_MAX, QuantizedLayer, tensor_word


class FeedForwardLowering(RowLowering):
    """Writes norm and feed-forward network of one layer."""

    def commands(self, layer: QuantizedLayer, places: LayerPlaces) -> Iterator[Command]:
        """Gate and up of a block, then passes of the one before, then down of the one before."""
        count = len(self.blocks)
        for step in range(count + 2):
            if step < count:
                yield from self.norm(*self.blocks[step])
                yield from self._hidden_products(places, step)
            if 0 <= step - 1 < count:
                yield from self._hidden_passes(places, step - 1)
            if 0 <= step - 2:
                yield from self._down(layer, places, step - 2)

    def _hidden_slot(self, number: int) -> int:
        """Accumulators of a block's gate; those of its up are there in the other half."""
        return number % 2 * self.scratch.block * self.tiles.hidden_stride

    def _hidden_products(self, places: LayerPlaces, number: int) -> Iterator[Command]:
        tiles, slot = self.tiles, self._hidden_slot(number)
        for place, acc in ((places.gate, slot), (places.up, slot + self.config.acc_half)):
            yield self.product(place, tiles.hidden_out, acc, tiles.hidden_stride,
                                self.blocks[number])

    def _hidden_passes(self, places: LayerPlaces, number: int) -> Iterator[Command]:
        scratch, block = self.scratch, self.blocks[number]
        start, end = block
        yield from self._gate_passes(places, number)
        yield self._hidden_drain(
            places.up.constants.base, self._hidden_slot(number) + self.config.acc_half, block,
            scratch.u.base, combine=Combine.MULTIPLY, stream_base=scratch.gate.base,
            reduce=Reduce.ABSMAX, scalar=Scalar.RECIPROCAL,
            row_write=scratch.u_inverse.base + start)
        source = self.vectors(scratch.u.base, self.tiles.hidden_beats, 0, end - start) | {
            "beats": self.tiles.hidden_beats, "valid": self.model.hidden}
        words = self.tiles.hidden_in
        yield Pass(**source, **tensor(tensor_word(ROW_MAX)), row_scale=1,
                   row_read=scratch.u_inverse.base + start, output=Output.INT8, sink=Sink.ACT,
                   sink_base=self._u8(number), sink_row_stride=words, sink_tile_stride=1)
        yield Pass(**source, **tensor(tensor_word(1 << MAGNITUDE_BITS)), reduce=Reduce.ABSMAX,
                   scalar=Scalar.SCALE, row_write=scratch.u_scale.base + start)

    def _u8(self, number: int) -> int:
        return self.scratch.u8.base + number % 2 * self.scratch.block * self.tiles.hidden_in

    def _gate_passes(self, places: LayerPlaces, number: int) -> Iterator[Command]:
        """The gate times its sigmoid; with a pass for the sigmoid where its units differ."""
        scratch, block, acc = self.scratch, self.blocks[number], self._hidden_slot(number)
        squash = {"function": Function.LINEAR, "table": SIGMOID_TABLE}
        if places.squash is None:
            yield self._hidden_drain(places.gate.constants.base, acc, block, scratch.gate.base,
                                     **squash, combine=Combine.SELF)
            return
        yield self._hidden_drain(places.squash.base, acc, block, scratch.sigmoid.base, **squash)
        yield self._hidden_drain(places.gate.constants.base, acc, block, scratch.gate.base,
                                 combine=Combine.MULTIPLY, stream_base=scratch.sigmoid.base)

    def _hidden_drain(self, constants: int, acc: int, block: Span, sink: int,
                      **fields: int) -> Pass:
        beats = self.tiles.hidden_beats
        return Pass(**self.drain(acc, self.tiles.hidden_stride, beats, constants, block),
                    valid=self.model.hidden, output=Output.INT16, sink=Sink.VEC, sink_base=sink,
                    sink_row_stride=beats, sink_tile_stride=1, stream_row_stride=beats, **fields)

    def _down(self, layer: QuantizedLayer, places: LayerPlaces, number: int) -> Iterator[Command]:
        start, end = block = self.blocks[number]
        tiles, words = self.tiles, self.tiles.hidden_in
        acc = number % 2 * self.config.acc_half + 2 * self.scratch.block * tiles.hidden_stride
        yield Product(
            count0=words, act0_stride=1, wgt0_stride=1, count1=end - start, act1_stride=words,
            acc1_stride=tiles.width_stride, count2=tiles.width_out, wgt2_stride=words,
            acc2_stride=1, act_base=self._u8(number), wgt_base=places.down.weight.base,
            acc_base=acc)
        yield from self.grow(layer.grow_feed_forward, block)
        yield self.add(places.down, acc, block, row_read=self.scratch.u_scale.base + start)
