"""The residual in vector memory: passes over rows of it, and the accumulators between."""
from collections.abc import Iterator

from systolith.hw.config import Config
from systolith.hw.isa import (
    Addend,
    Combine,
    Command,
    Output,
    Pass,
    Reduce,
    Scalar,
    Scale,
    Sink,
    Source,
)
from systolith.sw.compiler.fields import Fields, Span, spans, tensor
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.encoder.plan import EncoderPlan
from systolith.sw.reference.encoder import QuantizedEncoder


class Residual:
    """Writes norms and quantizations of rows of the residual; the parts of a lowering share it.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : EncoderPlan
    config : Config
    """

    def __init__(self, model: QuantizedEncoder, plan: EncoderPlan, config: Config):
        self.model, self.plan, self.config = model, plan, config
        self.tiles = plan.tiles
        self.blocks = spans(plan.length, plan.block)
        self._products = 0

    @property
    def slots(self) -> int:
        """Products of a block that the accumulators hold."""
        return 2 * max(1, self.config.acc_half // (self.plan.block * self.tiles.widest))

    def slot(self) -> int:
        """First accumulator of the next product of a block: products go around in all there are."""
        number, self._products = self._products, self._products + 1
        return (number % 2 * self.config.acc_half
                + number % self.slots // 2 * self.plan.block * self.tiles.widest)

    def source(self, block: Span) -> Fields:
        """Rows of the residual as the source of a pass."""
        beats = self.tiles.width_beats
        return {"source": Source.VEC, "source_base": self.plan.x.base + block[0] * beats,
                "source_row_stride": beats, "source_tile_stride": 1, "rows": block[1] - block[0],
                "beats": beats, "valid": self.model.width}

    def sink(self, block: Span) -> Fields:
        """Rows of the residual as the sink of a pass."""
        beats = self.tiles.width_beats
        return {"output": Output.INT16, "sink": Sink.VEC, "sink_tile_stride": 1,
                "sink_base": self.plan.x.base + block[0] * beats, "sink_row_stride": beats}

    def added(self, block: Span, columns: Span | None = None) -> Fields:
        """The residual as the stream that accumulators are added to, in place: its ``columns``, all
        for None."""
        first, last = columns or (0, self.model.width)
        beats = self.tiles.width_beats if columns is None else self.beats(columns)
        base = self.first_word(block, first)
        return {**self.sink(block), "sink_base": base, "combine": Combine.ADD,
                "stream_row_stride": self.tiles.width_beats, "stream_base": base, "beats": beats,
                "rows": block[1] - block[0], "valid": last - first}

    def first_word(self, block: Span, column: int) -> int:
        """Word in vector memory of a column in the first row of a block."""
        return (self.plan.x.base + block[0] * self.tiles.width_beats
                + column // self.config.lanes)

    def stride(self, columns: Span | None) -> int:
        """Words of accumulators of these columns of a row, all for None."""
        if columns is None:
            return self.tiles.width_stride
        return ceil_div(columns[1] - columns[0], self.config.cols)

    def beats(self, columns: Span) -> int:
        """Words of vector memory of these columns of a row."""
        return ceil_div(columns[1] - columns[0], self.config.lanes)

    def norm(self, block: Span, constants: int) -> Iterator[Command]:
        """Layer norm of rows of the residual in place; ``constants``: its first column constant."""
        plan, x, sink = self.plan, self.source(block), self.sink(block)
        yield Pass(**x, **tensor(self.model.mean_word), reduce=Reduce.SUM, scalar=Scalar.MEAN,
                   row_write=plan.mean.base)
        yield Pass(**x, **sink, addend=Addend.ROW, row_read=plan.mean.base)
        yield Pass(**x, combine=Combine.SQUARE, reduce=Reduce.SUM, scalar=Scalar.INVERSE_ROOT,
                   row_write=plan.root.base)
        yield Pass(**x, **sink, scale=Scale.COLUMN, const_base=constants, row_scale=1,
                   row_read=plan.root.base)
        yield Pass(**x, **sink, addend=Addend.COLUMN, const_base=constants)

    def smooth(self, block: Span, constants: int, sink_base: int, stride: int) -> Iterator[Command]:
        """Rows of the residual as INT8 in activation memory, word ``tile * stride + row``."""
        plan, x, beats = self.plan, self.source(block), self.tiles.width_beats
        measure = {"scale": Scale.COLUMN, "const_base": constants + 2 * beats,
                   "reduce": Reduce.ABSMAX}
        yield Pass(**x, **measure, scalar=Scalar.RECIPROCAL, row_write=plan.inverse.base + block[0])
        yield Pass(**x, **measure, scalar=Scalar.SCALE, row_write=plan.scale.base + block[0])
        yield Pass(**x, scale=Scale.COLUMN, const_base=constants + beats, row_scale=1,
                   row_read=plan.inverse.base + block[0], output=Output.INT8, sink=Sink.ACT,
                   sink_base=sink_base, sink_row_stride=1, sink_tile_stride=stride)
