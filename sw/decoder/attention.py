"""Lowering of attention over the cache of keys and values."""
from collections.abc import Iterator

from systolith.hw.config import Region
from systolith.hw.isa import Command
from systolith.sw.compiler.fields import spans
from systolith.sw.compiler.gather import MEET
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.softmax import AttentionBlock
from systolith.sw.decoder.rows import RowLowering
from systolith.sw.reference.quantized_decoder import QuantizedLayer


class AttentionLowering(RowLowering):
    """Writes scores, softmax and mixed values of one layer.

    Rows are attended together that are positions of one head, or, of a single position, heads that
    share keys and values. They come in waves: while the vector unit does the softmax of one, the
    array multiplies the scores of the next. Waves alternate between the halves of the accumulators.
    The first one has that of the keys: scores need not wait until queries and values are drained.
    """

    def commands(self, index: int, layer: QuantizedLayer) -> Iterator[Command]:
        """Scores, softmax and mixed values of all blocks, which go to the other cores."""
        size = self._wave
        blocks = list(self._blocks(index, layer))
        waves = [blocks[i:i + size] for i in range(0, len(blocks), size)]
        for step in range(len(waves) + 1):
            now = waves[step] if step < len(waves) else []
            before = waves[step - 1] if step else []
            yield from (block.score_product(self.config) for block in now)
            yield from (block.mix_product(self.config) for block in before)
            yield from (block.maximum_pass(self.config) for block in now)
            yield from (block.mix_pass(self.config) for block in before)
            for block in before:
                yield from self._send(block)
            yield from (block.power_pass(self.config) for block in now)

        if not self.share.alone:
            yield MEET

    def _send(self, block: AttentionBlock) -> Iterator[Command]:
        """Mixed values of a block to the other cores."""
        size, words = self.config.word_bytes(Region.ACT), self.scratch.length
        rows, run = (1, block.rows * block.head_in) if self._single else (block.head_in, block.rows)
        yield from self.mesh.send(Region.ACT, block.query * size, rows, run * size, words * size)

    @property
    def _single(self) -> bool:
        return self.scratch.length == 1

    @property
    def _most(self) -> int:
        """Rows of a block at most."""
        return self.heads_together if self._single else self.scratch.block

    @property
    def _wave(self) -> int:
        """Blocks of a wave; there is room for those of all heads that share keys."""
        return self.scratch.wave * (self.group // self.heads_together if self._single else 1)

    def _blocks(self, index: int, layer: QuantizedLayer) -> Iterator[AttentionBlock]:
        if self._single:
            parts = [(head, 0, self._most) for head in range(0, self.model.heads, self._most)]
        else:
            parts = [(head, start, end - start) for head in range(self.model.heads)
                     for start, end in spans(self.scratch.length, self.scratch.block)]
        for number, part in enumerate(parts):
            yield self._block(index, layer, number, *part)

    def _block(self, index: int, layer: QuantizedLayer, number: int, head: int, start: int,
               rows: int) -> AttentionBlock:
        scratch, tiles, kv = self.scratch, self.tiles, head // self.group
        cache = self.residents.caches[index]
        # The share of this block in what two waves use.
        share = number % (2 * self._wave) * self._most
        half, place = divmod(number % (2 * self._wave), self._wave)
        words = self._most * (scratch.score_stride + scratch.mix_stride)
        scores = (1 - half) * self.config.acc_half + place * words
        return AttentionBlock(
            rows=rows, position=self.position + start,
            visible=self.position + (1 if self._single else start + rows),
            causal=not self._single, head_dim=self.model.head_dim, head_in=tiles.head_in,
            head_out=tiles.head_out,
            query=self.queries(head) + start,
            query_row=tiles.head_in if self._single else 1, query_tile=scratch.length,
            keys=cache.keys.base + kv * tiles.head_in,
            key_stride=self.model.kv_heads * tiles.head_in,
            values=cache.values.base + kv * tiles.head_out * self.residents.value_tiles,
            value_stride=self.residents.value_tiles, scores=scores,
            score_stride=scratch.score_stride, mixed=scores + self._most * scratch.score_stride,
            mix_stride=scratch.mix_stride,
            p=scratch.p.base + share * ceil_div(self.residents.context, self.config.rows),
            maxima=scratch.maxima.base + share, sums=scratch.sums.base + share,
            score_word=int(layer.score_words[kv]), mix_word=int(layer.mix_words[kv]))
