"""Feed-forward network of a core of a mesh: its groups up, its columns of all groups down."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import Command, Sink
from systolith.sw.compiler.fields import Span
from systolith.sw.encoder.hidden import HiddenLowering, HiddenRows
from systolith.sw.encoder.mesh.exchange import MeshExchange
from systolith.sw.encoder.mesh.plan import MeshPlan
from systolith.sw.encoder.mesh.stream import MeshStream
from systolith.sw.encoder.residual import Residual
from systolith.sw.reference.encoder import QuantizedEncoder


class MeshFeedForward:
    """Writes the network of one layer, block by block of rows.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : MeshPlan
    weights : MeshStream
    residual : Residual
    exchange : MeshExchange
    config : Config
    index : int
        Of the layer.
    """

    def __init__(self, model: QuantizedEncoder, plan: MeshPlan, weights: MeshStream,
                 residual: Residual, exchange: MeshExchange, config: Config, index: int):
        self.plan, self.weights, self.exchange, self.index = plan, weights, exchange, index
        self.layer = plan.share.of(model.layers[index])
        self._hidden = HiddenLowering(plan, residual, config)
        self._own = range(*plan.share.groups)
        self._ups = [f"up{index}.{group}" for group in self._own]
        self._downs = [f"down{index}.{group}" for group in range(len(self.layer.groups))]

    def fetch(self) -> Iterator[Command]:
        """Loads of the weights of the own groups."""
        yield from self.weights.need(*self._ups)

    def up(self, step: int, block: Span) -> Iterator[Command]:
        """Hidden rows of the own groups, to the row of cores."""
        if block[0] == block[1]:
            return
        for group, name in zip(self._own, self._ups, strict=True):
            place, each = self.weights.place(name), self.layer.groups[group]
            if step == 0 or len(self._own) > 1:
                yield self._hidden.table(place)
            yield from self._hidden.up(each, place, block, self.plan.h.base + block[0])
            hidden, number = self._rows(step, group), step * len(self._own) + group - self._own[0]
            for command in self._hidden.gelu(each, block, hidden):
                yield from (self.exchange.staged(command, number, 0) if command.sink == Sink.ACT
                            else [command])
            rows = block[1] - block[0]
            yield from self.exchange.tiles(number, self.plan.tiles.group_in, rows, hidden.base,
                                           hidden.tile_stride)
            yield from self.exchange.scales(hidden.scale, rows)

    def down(self, step: int, block: Span) -> Iterator[Command]:
        """All groups to the own columns of the residual."""
        columns = self.plan.share.columns
        yield from self.weights.need(*self._downs)
        if block[0] == block[1] or columns[0] == columns[1]:
            return
        for group, name in enumerate(self._downs):
            yield from self._hidden.down(self.layer.groups[group], self.weights.place(name), block,
                                         self._rows(step, group), columns)

    def up_done(self) -> None:
        """No block is left to go up."""
        self.weights.done(*self._ups)

    def down_done(self) -> None:
        """No block is left to go down."""
        self.weights.done(*self._downs)

    def _rows(self, step: int, group: int) -> HiddenRows:
        plan = self.plan
        return HiddenRows(
            base=plan.hidden_base(step, group), row_stride=1, tile_stride=plan.block,
            inverse=plan.hidden_inverse[step % 2].base, scale=plan.hidden_scale_base(step, group))
