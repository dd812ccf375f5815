"""What a core of a mesh sends of an encoder.

Hidden rows and mixed values are written twice: into activation memory, where the own array reads
them, and into weight memory, out of which they are sent. The array reads activations in every
cycle, so a send out of there would wait for it, but weights only once for a block of rows.
"""
from collections.abc import Iterator
from dataclasses import replace

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Pass, Sink
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.gather import Gather
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.encoder.mesh.plan import STAGES, MeshPlan
from systolith.sw.encoder.residual import Residual


class MeshExchange:
    """Sends of one core to the others of its row and of its column.

    Parameters
    ----------
    plan : MeshPlan
    residual : Residual
    config : Config
    """

    def __init__(self, plan: MeshPlan, residual: Residual, config: Config):
        self.plan, self.residual, self.config = plan, residual, config
        share = plan.share
        self._row = Gather(config, share.number, share.row)
        self._column = Gather(config, share.number, share.column)
        self._following = share.following
        self._depth = ceil_div(plan.block, config.rows)

    def rows(self, block: Span) -> Iterator[Command]:
        """Whole rows of the residual, to the row."""
        words = self.plan.tiles.width_beats
        yield from self._row.rows(Region.VEC, self.plan.x.base, words, block, words)

    def hand_on(self, block: Span) -> Iterator[Command]:
        """Whole rows of the residual, to the cores that go on with them, if there are any."""
        words = self.plan.tiles.width_beats
        if block[0] < block[1]:
            yield from self._on(Region.VEC, self.plan.x.base, words, block)

    def let_load(self) -> Iterator[Command]:
        """A word of the table of powers to those that :meth:`hand_on` reaches. They load that table
        over this word before their weights, so they wait for it."""
        yield from self._on(Region.VEC, self.plan.table.base, 1, (0, 1))

    def _on(self, region: Region, base: int, words: int, block: Span) -> Iterator[Command]:
        area = self._following
        if area is not None:
            core = area.y_first * self.config.mesh_width + area.x_first
            number = self.plan.share.number
            # A core alone is no area of others for a gather, but a target.
            gather, target = (Gather(self.config, number), core) if area.cores == 1 else (
                Gather(self.config, number, area), None)
            yield from gather.rows(region, base, words, block, words, target=target)

    def columns(self, block: Span) -> Iterator[Command]:
        """The own columns of the residual, to the row."""
        first, last = self.plan.share.columns
        if first == last or block[0] == block[1]:
            return
        word = self.config.word_bytes(Region.VEC)
        yield from self._row.send(
            Region.VEC, self.residual.first_word(block, first) * word, block[1] - block[0],
            self.residual.beats((first, last)) * word, self.plan.tiles.width_beats * word)

    def staged(self, drain: Pass, number: int, tile: int) -> Iterator[Command]:
        """A pass that writes the ``number``-th block's tiles of activation memory, and one more for
        :meth:`tiles`; ``tile`` is the first of those that it writes."""
        yield drain
        if self._stages:
            yield replace(drain, sink=Sink.WGT_ROWS, position=0, sink_row_stride=1,
                          sink_base=self._stage(number) + tile * self._depth,
                          sink_tile_stride=self._depth)

    def tiles(self, number: int, tiles: int, rows: int, base: int, stride: int
              ) -> Iterator[Command]:
        """``tiles`` tiles of ``rows`` rows in activation memory, from word ``base`` on and
        ``stride`` words apart, to the row."""
        config, there = self.config, stride * self.config.rows
        if tiles * rows == 0:
            return
        remote = (Region.ACT, base * config.rows)
        if self._stages:
            word = config.word_bytes(Region.WGT)
            yield from self._row.send(
                Region.WGT, self._stage(number) * word, tiles, rows * config.cols,
                self._depth * word, remote=remote, remote_stride=there)
        else:
            yield from self._row.send(*remote, tiles, rows * config.rows, there)

    def scales(self, base: int, rows: int) -> Iterator[Command]:
        """Row constants from ``base`` on, to the row."""
        word, bus = self.config.word_bytes(Region.ROW), self.config.bus_bytes
        size = ceil_div(rows * word, bus) * bus
        yield from self._row.send(Region.ROW, base * word, 1, size, size)

    def keys_and_values(self, plan: MeshPlan) -> Iterator[Command]:
        """Keys and values of the own positions, to the column; ``plan`` is that of the layer."""
        tiles, word = plan.tiles, self.config.word_bytes(Region.WGT)
        if not tiles.heads or not plan.length:
            return
        tile = tiles.heads * tiles.head_in * word
        yield from self._column.send(
            Region.WGT, plan.keys.base * word + plan.first // self.config.cols * tile,
            ceil_div(plan.length, self.config.cols), tile, tile)
        yield from self._positions(self._column, plan.values.base, tiles.value_stride, plan.length)

    def pooled(self) -> Iterator[Command]:
        """The own tokens for the mean, to the lead of the team, which gives the embedding."""
        if self.plan.tokens and self.plan.share.place == 0:
            yield from self._positions(self._column, self.plan.pool.base,
                                       self.plan.tiles.width_out, self.plan.tokens,
                                       target=self.plan.share.lead)

    def _positions(self, gather: Gather, base: int, tiles: int, rows: int,
                   target: int | None = None) -> Iterator[Command]:
        """The core's first ``rows`` positions of ``tiles`` columns of tiles."""
        plan, height, word = self.plan, self.config.rows, self.config.word_bytes(Region.WGT)
        yield from gather.send(
            Region.WGT, (base + plan.first // height) * word, tiles, ceil_div(rows, height) * word,
            plan.key_tiles * word, target=target)

    @property
    def _stages(self) -> bool:
        """Whether a row of a tile has as many bytes in both memories, so that they can stay
        together."""
        return self.config.rows == self.config.cols and not self._row.alone

    def _stage(self, number: int) -> int:
        stage = self.plan.stage
        return stage.base + number % STAGES * (stage.words // STAGES)


