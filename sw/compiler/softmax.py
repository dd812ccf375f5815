"""Attention of one block of rows: scores, softmax and mixed values as commands."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.isa import (
    Addend,
    Command,
    Function,
    Output,
    Pass,
    Product,
    Reduce,
    Scalar,
    Sink,
)
from systolith.sw.compiler.fields import Fields, accumulators, tensor
from systolith.sw.compiler.layout import ceil_div

#: Function table of the powers of two.
EXP2_TABLE = 0


@dataclass(frozen=True, kw_only=True)
class AttentionBlock:
    """Rows of queries that go through softmax together, and where everything of them is.

    Parameters
    ----------
    rows, position : int
        Rows, and the position of the first in the sequence.
    visible : int
        Keys that exist; where ``causal``, a row sees only those up to its own position.
    head_dim, head_in, head_out : int
        Elements of a head, its contraction and output tiles.
    query, query_row, query_tile : int
        ACT word of the queries, which the mixed values overwrite; words from row to row, and from
        tile to tile.
    keys, key_stride : int
        WGT word of the head's keys; words from tile to tile of positions.
    values, value_stride : int
        WGT word of the head's values; words from output tile to output tile.
    scores, score_stride, mixed, mix_stride : int
        Accumulators, and words a row of them.
    p, maxima, sums : int
        ACT word of the probabilities; row constants.
    score_word, mix_word : int
        Scale words: scores to log2 units, and ``128 * P @ V`` over the row's sum to INT8.
    """

    rows: int
    position: int
    visible: int
    causal: bool
    head_dim: int
    head_in: int
    head_out: int
    query: int
    query_row: int
    query_tile: int
    keys: int
    key_stride: int
    values: int
    value_stride: int
    scores: int
    score_stride: int
    mixed: int
    mix_stride: int
    p: int
    maxima: int
    sums: int
    score_word: int
    mix_word: int

    def score_product(self, config: Config) -> Command:
        """Queries times keys."""
        return Product(
            count0=self.head_in, act0_stride=self.query_tile, wgt0_stride=1, count1=self.rows,
            act1_stride=self.query_row, acc1_stride=self.score_stride,
            count2=ceil_div(self.visible, config.cols), wgt2_stride=self.key_stride, acc2_stride=1,
            act_base=self.query, wgt_base=self.keys, acc_base=self.scores)

    def maximum_pass(self, config: Config) -> Command:
        """The largest score of each row."""
        return Pass(**self._masked(), beats=ceil_div(self.visible, config.lanes),
                    reduce=Reduce.MAX, row_write=self.maxima)

    def power_pass(self, config: Config) -> Command:
        """Powers of two, their sum's reciprocal, and UINT8 probabilities in whole words."""
        words = self._words(config)
        return Pass(
            **self._masked(), **tensor(self.score_word), beats=words * config.rows // config.lanes,
            addend=Addend.ROW, row_read=self.maxima, function=Function.EXP2, table=EXP2_TABLE,
            reduce=Reduce.SUM, scalar=Scalar.RECIPROCAL, row_write=self.sums, narrow=1,
            output=Output.UINT8, sink=Sink.ACT, sink_base=self.p, sink_row_stride=words,
            sink_tile_stride=1)

    def mix_product(self, config: Config) -> Command:
        """Probabilities times values."""
        words = self._words(config)
        return Product(
            left_unsigned=1, count0=words, act0_stride=1, wgt0_stride=1, count1=self.rows,
            act1_stride=words, acc1_stride=self.mix_stride, count2=self.head_out,
            wgt2_stride=self.value_stride, acc2_stride=1, act_base=self.p, wgt_base=self.values,
            acc_base=self.mixed)

    def mix_pass(self, config: Config) -> Command:
        """Mixed values over the rows' sums, in the place of the queries.

        The beats fill whole words, so the padding of a contraction is zero.
        """
        return Pass(
            **accumulators(self.mixed, self.mix_stride), **tensor(self.mix_word), rows=self.rows,
            beats=self.head_in * config.rows // config.lanes, valid=self.head_dim, row_scale=1,
            row_read=self.sums, output=Output.INT8, sink=Sink.ACT, sink_base=self.query,
            sink_row_stride=self.query_row, sink_tile_stride=self.query_tile)

    def _words(self, config: Config) -> int:
        """Words of probabilities of a row."""
        return ceil_div(self.visible, config.rows)

    def _masked(self) -> Fields:
        """The scores as the source of a pass."""
        return {**accumulators(self.scores, self.score_stride), "rows": self.rows,
                "valid": self.visible, "position": self.position, "causal": int(self.causal)}


def interleaved(blocks: Sequence[AttentionBlock], depth: int, config: Config) -> Iterator[Command]:
    """All blocks; the product of P and V comes ``depth`` blocks after the scores.

    So the passes of one block run while the array multiplies the next ones.
    """
    for step in range(len(blocks) + depth):
        mixed = blocks[step - depth] if step >= depth else None
        scored = blocks[step] if step < len(blocks) else None
        if mixed:
            yield mixed.mix_product(config)
        if scored:
            yield scored.score_product(config)
        if mixed:
            yield mixed.mix_pass(config)
        if scored:
            yield scored.maximum_pass(config)
            yield scored.power_pass(config)
