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
from systolith.sw.encoder.mesh.team import MOST_COLUMNS, Team
from systolith.sw.reference.attention import Projection
from systolith.sw.reference.encoder import QuantizedEncoder, QuantizedEncoderLayer


@dataclass(frozen=True, kw_only=True)
class Share:
    """The part of an encoder that core ``number`` has. Spans may be empty.

    Parameters
    ----------
    number : int
        Of the core.
    place : int
        Of the core in its row.
    lead : int
        The core of its team that gives the embedding.
    layers : Span
        Of the encoder.
    following : Area or None
        The cores that get the residual from this one when its layers are done, and go on with the
        same positions.
    row, column : Area
        Cores with the same positions, and those with the same heads.
    positions : Span
        Of the text.
    all_heads, all_columns, all_groups : sequence of Span
        By place in the row: heads, columns of the residual, groups of the feed-forward network.
    """

    number: int
    place: int
    lead: int
    layers: Span
    following: Area | None = None
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
        return self.number == self.lead


def _columns(layer: Projection, columns: slice) -> Projection:
    return Projection(weight=layer.weight[:, columns], words=layer.words[columns],
                      bias=None if layer.bias is None else layer.bias[columns])


def least_length(team: Team, granule: int) -> int:
    """Positions with which every row of cores has some: whole tiles of ``granule`` are shared
    out."""
    return (team.grid[1] - 1) * granule + 1


def granule_of(config: Config) -> int:
    """Positions of a tile, of which each core has whole ones."""
    return max(config.rows, config.cols)


def shares_of(model: QuantizedEncoder, config: Config, length: int, team: Team | None = None,
              layers: Span | None = None, following: Team | None = None) -> list[Share]:
    """A share for each core of a team, by default all of a chip; no other core has more positions,
    heads or columns than the first.

    Parameters
    ----------
    layers : Span, optional
        Those of the team; by default all.
    following : Team, optional
        Of the same size, has the layers after these.

    Raises
    ------
    CompileError
        When a row is too long, or there are fewer tiles of positions than rows.
    """
    team = team or Team.whole(config)
    columns, rows = team.grid
    _check(config, length, team)
    positions, shares = tiled(length, granule_of(config), rows), []
    heads, groups = even(model.heads, columns), even(len(model.layers[0].groups), columns)
    residual = tiled(model.width, config.cols, columns)
    for local, number in enumerate(team.cores):
        row, place = divmod(local, columns)
        shares.append(Share(
            number=number, place=place, lead=team.cores[0], row=team.row(row),
            layers=layers or (0, len(model.layers)),
            following=following.row(row) if following and place == 0 else None,
            column=team.column(number), positions=positions[row], all_heads=heads,
            all_columns=residual, all_groups=groups))
    return shares


def _check(config: Config, length: int, team: Team) -> None:
    """That a team's rows are not too long, and none is without positions."""
    columns, rows = team.grid
    if columns > MOST_COLUMNS:
        raise CompileError(f"a row of {config.name!r} has {columns} cores, but an encoder's heads "
                           f"are shared by at most {MOST_COLUMNS}, such as in 'mesh4' or 'mesh16'")
    granule = granule_of(config)
    least = least_length(team, granule)
    if length < least:
        raise CompileError(f"length must be at least {least} on the {rows} rows of "
                           f"{config.name!r}, {granule} positions a row, not {length}; compile "
                           "a longer text of which fewer positions are valid, or take "
                           f"{config.core.name!r}")
