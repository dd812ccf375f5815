"""Lowering of the start of an encoder: words that lie in the residual, plus positions."""
from collections.abc import Iterator

from systolith.hw.isa import Command, Pass, Product
from systolith.sw.compiler.fields import Span, accumulators, tensor
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.encoder.residual import Residual
from systolith.sw.reference.encoder import QuantizedEncoder


class EmbeddingLowering:
    """Writes the sum of words and positions.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    residual : Residual
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, residual: Residual):
        self.model, self.plan, self.residual = model, plan, residual

    def base(self, number: int) -> int:
        """First word of the positions of the ``number``-th block in activation memory."""
        tiles = self.plan.tiles
        words = self.plan.block * 2 * tiles.units * tiles.unit_in
        return self.plan.positions.base + number % 2 * words

    def block(self, block: Span, base: int) -> Iterator[Command]:
        """Positions from word ``base`` on, as an exact product with the identity, added to words.
        """
        acc, tiles = self.residual.slot(), self.plan.tiles
        for part in range(tiles.unit_out):
            yield self._product(block, base, acc + part, part)
        yield Pass(**accumulators(acc, tiles.position_stride), **self.residual.added(block),
                   **tensor(self.model.position_word))

    def _product(self, block: Span, base: int, acc: int, part: int) -> Command:
        tiles = self.plan.tiles
        words = 2 * tiles.unit_in
        return Product(
            count0=words, act0_stride=1, wgt0_stride=1, count1=block[1] - block[0],
            act1_stride=tiles.units * words, acc1_stride=tiles.position_stride,
            count2=tiles.units, act2_stride=words, acc2_stride=tiles.unit_out, act_base=base,
            wgt_base=self.plan.identity.base + part * words, acc_base=acc)
