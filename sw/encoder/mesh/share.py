"""What each core of a chip does of an encoder: its heads, its columns, its groups, its tokens.

Cores of a *row* have the same positions of a text, and each other heads and columns. Cores of a
*column* have the same heads and columns, and each other positions. Nothing is added across cores:
each column has its whole contraction in one core, so all integers are those of a core alone.
"""
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.gather import Area
from systolith.sw.compiler.sharing import even, tiled
from systolith.sw.reference.attention import Projection
from systolith.sw.reference.encoder import QuantizedEncoder, QuantizedEncoderLayer

#: Cores of a row at most: each needs a semaphore for each other, twice.
MOST_COLUMNS = 4


@dataclass(frozen=True, kw_only=True)
class Share:
    """The part of an encoder that core ``number`` has. Spans may be empty.

    Parameters
    ----------
    number : int
        Of the core.
    place : int
        Of the core in its row.
    row, column : Area
        Cores with the same positions, and those with the same heads.
    positions : Span
        Of the text.
    all_heads, all_columns, all_groups : sequence of Span
        By place in the row: heads, columns of the residual, groups of the feed-forward network.
    """

    number: int
    place: int
    row: Area
    column: Area
    positions: Span
    all_heads: Sequence[Span]
    all_columns: Sequence[Span]
    all_groups: Sequence[Span]

    @property
    def heads(self) -> Span:
        """Own heads."""
        return self.all_heads[self.place]

    @property
    def columns(self) -> Span:
        """Own columns of the residual."""
        return self.all_columns[self.place]

    @property
    def groups(self) -> Span:
        """Own groups of the feed-forward network."""
        return self.all_groups[self.place]

    def of(self, layer: QuantizedEncoderLayer) -> QuantizedEncoderLayer:
        """A layer with the own heads and columns; its groups are all there."""
        heads, columns = slice(*self.heads), slice(*self.columns)
        size = layer.q.weight.shape[1] // len(layer.score_words)
        own = slice(self.heads[0] * size, self.heads[1] * size)
        return dataclasses.replace(
            layer, q=dataclasses.replace(layer.q, weight=layer.q.weight[:, own],
                                         words=layer.q.words[own], bias=layer.q.bias[own]),
            k=_columns(layer.k, own), v=_columns(layer.v, own), out=_columns(layer.out, columns),
            score_words=layer.score_words[heads], mix_words=layer.mix_words[heads],
            groups=tuple(dataclasses.replace(group, down=_columns(group.down, columns))
                         for group in layer.groups))

    def embedded(self, block: Span) -> Span:
        """The rows of a block that this core embeds for its row of cores."""
        first, last = even(block[1] - block[0], self.row.cores)[self.place]
        return block[0] + first, block[0] + last

    @property
    def leads(self) -> bool:
        """Whether this core gives the embedding."""
        return self.number == 0


def _columns(layer: Projection, columns: slice) -> Projection:
    return Projection(weight=layer.weight[:, columns], words=layer.words[columns],
                      bias=None if layer.bias is None else layer.bias[columns])


def grid(config: Config) -> tuple[int, int]:
    """Cores of a row, and rows: up to :data:`MOST_COLUMNS` cores form one row, more are rows as
    those of the mesh."""
    if config.cores <= MOST_COLUMNS:
        return config.cores, 1
    return config.mesh_width, config.mesh_height


def least_length(config: Config) -> int:
    """Positions with which every row of cores has some: whole tiles are shared out."""
    return (grid(config)[1] - 1) * max(config.rows, config.cols) + 1


def shares_of(model: QuantizedEncoder, config: Config, length: int) -> list[Share]:
    """A share for each core of a chip; no other core has more positions, heads or columns than the
    first.

    Raises
    ------
    CompileError
        When a row is too long, or there are fewer tiles of positions than rows.
    """
    width, height = config.mesh_width, config.mesh_height
    columns, rows = grid(config)
    if columns > MOST_COLUMNS:
        raise CompileError(f"a row of {config.name!r} has {columns} cores, but an encoder's heads "
                           f"are shared by at most {MOST_COLUMNS}, such as in 'mesh4' or 'mesh16'")
    granule = max(config.rows, config.cols)
    least = least_length(config)
    if length < least:
        raise CompileError(f"length must be at least {least} on the {rows} rows of "
                           f"{config.name!r}, {granule} positions a row, not {length}; compile "
                           "a longer text of which fewer positions are valid, or take "
                           f"{config.core.name!r}")
    positions, shares = tiled(length, granule, rows), []
    heads, groups = even(model.heads, columns), even(len(model.layers[0].groups), columns)
    residual = tiled(model.width, config.cols, columns)
    for number in range(config.cores):
        y, x = divmod(number, width)
        row, place = (Area(0, width - 1, 0, height - 1), number) if rows == 1 else (
            Area(0, width - 1, y, y), x)
        shares.append(Share(
            number=number, place=place, row=row,
            column=Area(x, x, y, y) if rows == 1 else Area(x, x, 0, height - 1),
            positions=positions[number // columns], all_heads=heads, all_columns=residual,
            all_groups=groups))
    return shares
