"""Lowering of the feed-forward network of an encoder layer."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Command
from systolith.sw.compiler.fields import Span
from systolith.sw.encoder.hidden import HiddenLowering, HiddenRows
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.residual import Residual
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import QuantizedEncoderLayer


class FeedForwardLowering:
    """Writes the feed-forward network, group by group of its columns.

    Parameters
    ----------
    plan : EncoderPlan
    weights : WeightStream
        Brings weights into the core just before they are used.
    residual : Residual
    config : Config
    """

    def __init__(self, plan: EncoderPlan, weights: WeightStream, residual: Residual,
                 config: Config):
        self.plan, self.weights, self.residual, self.tiles = plan, weights, residual, plan.tiles
        self.hidden = HiddenLowering(plan, residual, config)

    def commands(self, index: int, layer: QuantizedEncoderLayer, norm: int
                 ) -> Iterator[Command]:
        """``up`` of one block, then ``down`` of the one before."""
        blocks = self.residual.blocks
        steps = [(group, block) for group in range(len(layer.groups)) for block in blocks]
        for step in range(len(steps) + 1):
            if step < len(steps):
                yield from self._up(index, layer, step, *steps[step])
            if step:
                group, block = steps[step - 1]
                yield from self.hidden.down(
                    layer.groups[group], self.weights.place(f"down{index}.{group}"), block,
                    self._rows(step - 1))
                if group == len(layer.groups) - 1:
                    yield from self.residual.norm(block, norm)

    def _up(self, index: int, layer: QuantizedEncoderLayer, step: int, group: int, block: Span
            ) -> Iterator[Command]:
        name = f"up{index}.{group}"
        if block == self.residual.blocks[0]:
            yield from self.weights.fetch(name)
            yield from self.weights.fetch(f"down{index}.{group}")
            if group == len(layer.groups) - 1:
                yield from self.weights.fetch_norm(2 * index + 2)
            yield self.hidden.table(self.weights.place(name))
        yield from self.hidden.up(layer.groups[group], self.weights.place(name), block,
                                  self.plan.q.base + block[0])
        yield from self.hidden.gelu(layer.groups[group], block, self._rows(step))

    def _rows(self, step: int) -> HiddenRows:
        plan, words = self.plan, self.tiles.group_in
        return HiddenRows(base=plan.hidden.base + step % 2 * plan.block * words, row_stride=words,
                          tile_stride=1, inverse=plan.hidden_inverse[step % 2].base,
                          scale=plan.hidden_scale[step % 2].base)
