"""Lowering of the heads of an attention layer: scores, softmax, mixed values."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Command, Table
from systolith.sw.compiler.fields import Span, accumulator_slot, spans
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.plan import Plan
from systolith.sw.compiler.softmax import EXP2_TABLE, AttentionBlock, interleaved
from systolith.sw.reference.attention import QuantizedAttention


class HeadLowering:
    """Writes the commands of all heads of one layer.

    The blocks of all heads form one sequence. They alternate between the halves of the
    accumulators, so the array and the vector unit rarely meet in one half.

    Parameters
    ----------
    layer : QuantizedAttention
        Supplies the scale words of scores and mixed values.
    plan : Plan
        Supplies all places.
    config : Config
    """

    def __init__(self, layer: QuantizedAttention, plan: Plan, config: Config):
        self.layer = layer
        self.plan = plan
        self.config = config

    def commands(self) -> Iterator[Command]:
        """Scores, softmax and mixed values of every block of every head."""
        yield Table(table=EXP2_TABLE, source_base=self.plan.table.base)
        blocks = [(head, span) for head in range(self.layer.heads)
                  for span in spans(self.plan.shape.length, self.plan.block_rows)]
        yield from interleaved([self._block(step, *block) for step, block in enumerate(blocks)],
                               self.plan.depth, self.config)

    def _block(self, step: int, head: int, span: Span) -> AttentionBlock:
        plan, (start, end), kv = self.plan, span, head // self.layer.group
        length, head_in = plan.shape.length, plan.tiles.head_in
        words = plan.block_rows * (plan.score_stride + plan.head_stride)
        scores = accumulator_slot(step, words, plan.depth // 2, self.config)
        return AttentionBlock(
            rows=end - start, position=start, visible=plan.shape.keys(end),
            causal=plan.shape.causal, head_dim=self.layer.head_dim, head_in=head_in,
            head_out=plan.tiles.head_out, query=plan.q.base + head * head_in * length + start,
            query_row=1, query_tile=length, keys=plan.k[kv].base, key_stride=head_in,
            values=plan.v[kv].base, value_stride=ceil_div(length, self.config.rows),
            scores=scores, score_stride=plan.score_stride,
            mixed=scores + plan.block_rows * plan.score_stride, mix_stride=plan.head_stride,
            p=plan.p[step % plan.depth].base, maxima=plan.maxima[step % plan.depth].base,
            sums=plan.sums[step % plan.depth].base,
            score_word=int(self.layer.score_words[head]), mix_word=int(self.layer.mix_words[head]))
