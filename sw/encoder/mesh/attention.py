"""Attention of a core's heads, whose mixed values go to the row of cores."""
from collections.abc import Iterator, Sequence

from systolith.hw.config import Config
from systolith.hw.isa import Command, Pass
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.gather import MEET
from systolith.sw.compiler.softmax import AttentionBlock
from systolith.sw.encoder.attention import AttentionLowering
from systolith.sw.encoder.mesh.exchange import MeshExchange
from systolith.sw.encoder.mesh.plan import MeshPlan
from systolith.sw.reference.encoder import QuantizedEncoder


class MeshAttention:
    """Writes scores, softmax and mixed values of one layer, all heads of a block of rows together.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : MeshPlan
    exchange : MeshExchange
    config : Config
    index : int
        Of the layer.

    Attributes
    ----------
    output_done : bool
        Whether the first block's output product has been done.
    """

    def __init__(self, model: QuantizedEncoder, plan: MeshPlan, exchange: MeshExchange,
                 config: Config, index: int):
        self.plan, self.exchange, self.config = plan, exchange, config
        self._lowering = AttentionLowering(model, plan.share.of(model.layers[index]),
                                           plan.layer(index), config)
        self.output_done = False

    def commands(self, blocks: Sequence[Span], output: list[Command]) -> Iterator[Command]:
        """Mixed values of each block to the others, then a meeting. The ``output`` product of the
        first block and its drain are done while the last softmax runs."""
        spans = [block for block in blocks if block[0] < block[1]]
        steps = [(number, head, span) for number, span in enumerate(spans)
                 for head in range(self.plan.tiles.heads)]
        work = [self._lowering.block(step, head, span)
                for step, (_, head, span) in enumerate(steps)]
        depth, met = self.plan.depth, 0
        for step in range(len(work) + depth if work else 0):
            if step == len(work) and met:
                yield from output
                self.output_done = True
            mixed = work[step - depth] if step >= depth else None
            scored = work[step] if step < len(work) else None
            if mixed:
                yield mixed.mix_product(self.config)
            if scored:
                yield scored.score_product(self.config)
            if mixed:
                number, head, span = steps[step - depth]
                yield from self._mixed(mixed, number, head)
                if head + 1 == self.plan.tiles.heads:
                    yield from self._send(number, span)
                    yield MEET
                    met += 1
            if scored:
                yield scored.maximum_pass(self.config)
                yield scored.power_pass(self.config)
        for _ in range(len(blocks) - met):
            yield MEET

    def _mixed(self, block: AttentionBlock, number: int, head: int) -> Iterator[Command]:
        drain = block.mix_pass(self.config)
        assert isinstance(drain, Pass)
        yield from self.exchange.staged(drain, number, head * self.plan.tiles.head_in)

    def _send(self, number: int, span: Span) -> Iterator[Command]:
        tiles = self.plan.tiles.heads * self.plan.tiles.head_in
        yield from self.exchange.tiles(number, tiles, span[1] - span[0],
                                       self.plan.queries + span[0], self.plan.length)
