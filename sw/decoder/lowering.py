"""Lowering of a decoder run: commands in an order in which they could run one by one.

The order decides what runs side by side: each engine keeps it, and the scheduler lets go of the
rest. So a block's products come before the passes of the block before it.
"""
from collections.abc import Iterator

from systolith.hw.config import Region
from systolith.hw.isa import Command, Load, Output, Pass, Reduce, Sink, Store
from systolith.sw.compiler.fields import Span, spans
from systolith.sw.compiler.gather import MEET
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.tokens import token_loads
from systolith.sw.decoder.attention import AttentionLowering
from systolith.sw.decoder.feed_forward import FeedForwardLowering
from systolith.sw.decoder.projections import ProjectionLowering
from systolith.sw.decoder.rows import RowLowering

#: Parts of the logits, at least.
HEAD_PARTS = 8


class DecoderLowering(RowLowering):
    """Writes the commands of a run of ``scratch.length`` tokens that start at ``position``."""

    def inputs(self, embedding: int, rope: int) -> Iterator[Command]:
        """One load for each token (of token 0: the driver puts the token's address in), then the
        rotations; ``embedding`` and ``rope`` are external addresses."""
        word = self.config.word_bytes(Region.VEC)
        size = self.tiles.width_beats * word
        yield from token_loads(embedding, self.scratch.length, size, self.scratch.x.base * word)
        size = self.tiles.query_beats * word
        if size:
            yield Load(region=int(Region.VEC), rows=self.scratch.length, row_bytes=size,
                       ext_base=rope + self.position * size, ext_stride=size, stride=size,
                       base=self.scratch.rope.base * word)
        for block in () if self.model.columned else self.blocks:
            yield Pass(**self.residual(*block), **self.measured(block[0]),
                       beats=self.tiles.width_beats)

    def layer(self, index: int) -> Iterator[tuple[str, Iterator[Command]]]:
        """One decoder layer: its parts by name, to be taken one after the other."""
        run = (self.model, self.residents, self.scratch, self.weights, self.position, self.config,
               self.share)
        layer, projections = self.model.layers[index], ProjectionLowering(*run)
        yield "projections", projections.inputs(index, layer)
        yield "attention", AttentionLowering(*run).commands(index, layer)
        yield "output", projections.output(index, layer)
        yield "feed-forward", FeedForwardLowering(*run).commands(index, layer)

    def logits(self, rows: Span, external: int | None) -> Iterator[Command]:
        """Final norm, logits and their largest, for the residual's ``rows``; all in core 0.

        The last block's logits stay in vector memory; with an ``external`` address all of them go
        there, too.
        """
        scratch, size = self.scratch, self.scratch.head_block
        for number, (first, last) in enumerate(spans(rows[1] - rows[0], size)):
            block = rows[0] + first, rows[0] + last
            beats = self._logit_beats
            logits = scratch.logits.base + number % 2 * size * beats
            if self.tiles.vocabulary_out:
                yield from self.norm("norm", self.model.norm, block)
                yield from self._head(block, logits)
            if not self.share.alone:
                yield MEET
            if self.share.number:
                continue
            yield Pass(**self.vectors(logits, beats, 0, last - first), beats=beats,
                       valid=self.model.vocabulary, reduce=Reduce.INDEX,
                       row_write=scratch.index.base + block[0])
            if external is not None:
                row_bytes = beats * self.config.word_bytes(Region.VEC)
                yield Store(region=int(Region.VEC), rows=last - first, row_bytes=row_bytes,
                            ext_base=external + first * row_bytes, ext_stride=row_bytes,
                            stride=row_bytes, base=logits * self.config.word_bytes(Region.VEC))

    def _head(self, block: Span, logits: int) -> Iterator[Command]:
        """Logits of a block of rows, some columns after the others, so that those before are
        drained while the array multiplies the next."""
        config, tiles = self.config, self.tiles
        most = min(config.acc_half // (block[1] - block[0]),
                   ceil_div(tiles.vocabulary_out, HEAD_PARTS))
        own, row = self.model.head.weight.shape[1], self._logit_beats
        for number, chunk in enumerate(self.weights.chunks("head", most)):
            acc, stride = number % 2 * config.acc_half, chunk.last - chunk.first
            columns = min(chunk.last * config.cols, own) - chunk.first * config.cols
            beat = chunk.first * config.cols // config.lanes
            beats = ceil_div(columns, config.lanes)
            constants, loads = self.weights.constants("head", beat, beats)
            sink = logits + self.share.vocabulary[0] // config.lanes + beat
            yield from (*chunk.loads, *self.chunk_product(chunk, self.left(block), acc, stride),
                        *loads)
            yield Pass(**self.drain(acc, stride, beats, constants, block), valid=columns,
                       output=Output.INT16, sink=Sink.VEC, sink_base=sink,
                       sink_row_stride=row, sink_tile_stride=1)
            yield from self.mesh.rows(Region.VEC, sink, beats, (0, block[1] - block[0]), row,
                                      target=0)

    @property
    def _logit_beats(self) -> int:
        """Words of vector memory of a row's logits, those of all cores."""
        return ceil_div(self.model.vocabulary, self.config.lanes)
