"""Lowering of a decoder run: commands in an order in which they could run one by one.

The order decides what runs side by side: each engine keeps it, and the scheduler lets go of the
rest. So a block's products come before the passes of the block before it.
"""
from collections.abc import Iterator

from systolith.hw.config import Region
from systolith.hw.isa import Command, Load, Output, Pass, Reduce, Scalar, Sink, Store
from systolith.sw.compiler.fields import Span, spans
from systolith.sw.compiler.tokens import token_loads
from systolith.sw.decoder.attention import AttentionLowering
from systolith.sw.decoder.feed_forward import FeedForwardLowering
from systolith.sw.decoder.plan import LayerPlaces
from systolith.sw.decoder.projections import ProjectionLowering
from systolith.sw.decoder.rows import RowLowering
from systolith.sw.reference.decoder import QuantizedLayer


class DecoderLowering(RowLowering):
    """Writes the commands of a run of ``scratch.length`` tokens that start at ``position``."""

    def inputs(self, embedding: int, rope: int) -> Iterator[Command]:
        """One load for each token (of token 0: the driver puts the token's address in), then the
        rotations; ``embedding`` and ``rope`` are external addresses."""
        word = self.config.word_bytes(Region.VEC)
        size = self.tiles.width_beats * word
        yield from token_loads(embedding, self.scratch.length, size, self.scratch.x.base * word)
        size = self.tiles.query_beats * word
        yield Load(region=int(Region.VEC), rows=self.scratch.length, row_bytes=size,
                   ext_base=rope + self.position * size, ext_stride=size, stride=size,
                   base=self.scratch.rope.base * word)
        for start, end in self.blocks:
            yield Pass(**self.residual(start, end), beats=self.tiles.width_beats,
                       reduce=Reduce.ABSMAX, scalar=Scalar.RECIPROCAL,
                       row_write=self.scratch.inverse.base + start)

    def layer(self, layer: QuantizedLayer, places: LayerPlaces) -> Iterator[Command]:
        """One decoder layer."""
        run = (self.model, self.residents, self.scratch, self.position, self.config)
        projections = ProjectionLowering(*run)
        yield from projections.inputs(places)
        yield from AttentionLowering(*run).commands(layer, places)
        yield from projections.output(layer, places)
        yield from FeedForwardLowering(*run).commands(layer, places)

    def logits(self, rows: Span, external: int | None) -> Iterator[Command]:
        """Final norm, logits and their largest, for the residual's ``rows``.

        The last block's logits stay in vector memory; with an ``external`` address all of them go
        there, too.
        """
        tiles, scratch = self.tiles, self.scratch
        for number, (first, last) in enumerate(spans(rows[1] - rows[0], scratch.head_block)):
            start, end = block = rows[0] + first, rows[0] + last
            acc, beats = number % 2 * self.config.acc_half, tiles.vocabulary_beats
            sink = scratch.logits.base + number % 2 * scratch.head_block * beats
            yield from self.norm(start, end)
            yield self.product(self.residents.head, tiles.vocabulary_out, acc,
                                tiles.vocabulary_out, block)
            yield Pass(**self.drain(acc, tiles.vocabulary_out, beats,
                                     self.residents.head.constants.base, block),
                       valid=self.model.vocabulary, reduce=Reduce.INDEX, output=Output.INT16,
                       row_write=scratch.index.base + start, sink=Sink.VEC, sink_base=sink,
                       sink_row_stride=beats, sink_tile_stride=1)
            if external is not None:
                size = beats * self.config.word_bytes(Region.VEC)
                yield Store(region=int(Region.VEC), rows=end - start, row_bytes=size,
                            ext_base=external + first * size, ext_stride=size, stride=size,
                            base=sink * self.config.word_bytes(Region.VEC))
