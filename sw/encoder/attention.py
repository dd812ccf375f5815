"""Lowering of attention over all positions of a text."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Command
from systolith.sw.compiler.fields import Span, accumulator_slot, spans
from systolith.sw.compiler.softmax import AttentionBlock, interleaved
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.reference.encoder import QuantizedEncoder, QuantizedEncoderLayer


class AttentionLowering:
    """Writes scores, softmax and mixed values of one layer.

    The blocks of all heads form one sequence and alternate between the halves of the accumulators.

    Parameters
    ----------
    model : QuantizedEncoder
    layer : QuantizedEncoderLayer
        Supplies the scale words.
    plan : EncoderPlan
    config : Config
    """

    def __init__(self, model: QuantizedEncoder, layer: QuantizedEncoderLayer, plan: EncoderPlan,
                 config: Config):
        self.model, self.layer, self.plan, self.config = model, layer, plan, config

    def commands(self) -> Iterator[Command]:
        """Scores, softmax and mixed values of every block of every head."""
        blocks = [(head, span) for head in range(self.model.heads)
                  for span in spans(self.plan.length, self.plan.block)]
        yield from interleaved([self.block(step, *block) for step, block in enumerate(blocks)],
                               self.plan.depth, self.config)

    def block(self, step: int, head: int, span: Span) -> AttentionBlock:
        """Rows of one head, the ``step``-th of all blocks."""
        plan, tiles, (start, end) = self.plan, self.plan.tiles, span
        words = plan.block * (plan.score_stride + plan.mix_stride)
        scores = accumulator_slot(step, words, plan.depth // 2, self.config)
        return AttentionBlock(
            rows=end - start, position=start, visible=plan.valid, causal=False,
            head_dim=self.model.head_dim, head_in=tiles.head_in, head_out=tiles.head_out,
            query=plan.queries + head * tiles.head_in * plan.length + start, query_row=1,
            query_tile=plan.length, keys=plan.keys.base + head * tiles.head_in,
            key_stride=tiles.heads * tiles.head_in,
            values=plan.values.base + head * tiles.head_out * plan.key_tiles,
            value_stride=plan.key_tiles, scores=scores, score_stride=plan.score_stride,
            mixed=scores + plan.block * plan.score_stride, mix_stride=plan.mix_stride,
            p=plan.p[step % plan.depth].base, maxima=plan.maxima[step % plan.depth].base,
            sums=plan.sums[step % plan.depth].base,
            score_word=int(self.layer.score_words[head]), mix_word=int(self.layer.mix_words[head]))
