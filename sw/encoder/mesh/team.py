"""Rectangles of a mesh's cores that share each layer among themselves."""
from collections.abc import Iterator
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.gather import Area

#: Cores of a row at most: each needs a semaphore for each other, twice.
MOST_COLUMNS = 4


@dataclass(frozen=True)
class Team:
    """The cores of a rectangle of a mesh.

    Parameters
    ----------
    mesh_width : int
        Of the whole mesh, which gives the cores their numbers.
    area : Area
    """

    mesh_width: int
    area: Area

    @classmethod
    def whole(cls, config: Config) -> "Team":
        """All cores of a chip."""
        return cls(config.mesh_width, Area.whole(config))

    @property
    def width(self) -> int:
        """Cores side by side."""
        return self.area.x_last - self.area.x_first + 1

    @property
    def height(self) -> int:
        """Cores one above the other."""
        return self.area.y_last - self.area.y_first + 1

    @property
    def cores(self) -> list[int]:
        """Their numbers, row by row."""
        area = self.area
        return [y * self.mesh_width + x for y in range(area.y_first, area.y_last + 1)
                for x in range(area.x_first, area.x_last + 1)]

    @property
    def grid(self) -> tuple[int, int]:
        """Cores that have the same positions of a text, and how many such rows there are: up to
        :data:`MOST_COLUMNS` cores form one row, more are rows as those of the mesh."""
        count = self.area.cores
        return (count, 1) if count <= MOST_COLUMNS else (self.width, self.height)

    def row(self, number: int) -> Area:
        """Those of row ``number`` of :attr:`grid`."""
        if self.grid[1] == 1:
            return self.area
        y = self.area.y_first + number
        return self.area._replace(y_first=y, y_last=y)

    def column(self, core: int) -> Area:
        """The cores that have the same heads as one of this team."""
        y, x = divmod(core, self.mesh_width)
        return Area(x, x, y, y) if self.grid[1] == 1 else self.area._replace(x_first=x, x_last=x)


def teams_of(config: Config, count: int) -> list[Team]:
    """All cores of a mesh in ``count`` equal rectangles, as near to squares as can be, in an order
    in which each is beside the next.

    Raises
    ------
    CompileError
        When the mesh cannot be divided so; the message says by what it can.
    """
    width, height = config.mesh_width, config.mesh_height
    splits = [across for across in range(1, count + 1) if count % across == 0
              and width % across == 0 and height % (count // across) == 0] if count > 0 else []
    if not splits:
        raise CompileError(f"the {width}x{height} cores of {config.name!r} cannot be divided into "
                           f"{count} equal rectangles; choose a number of teams of "
                           f"{', '.join(map(str, team_counts(config)))}")
    across = min(splits, key=lambda each: (
        Team(width, _area(config, each, count // each, 0, 0)).grid[0] > MOST_COLUMNS,
        width // each + height * each // count))
    return [Team(width, area) for area in _path(config, across, count // across)]


def team_counts(config: Config) -> list[int]:
    """Numbers of equal rectangles into which a mesh can be divided."""
    return sorted({x * y for x in _divisors(config.mesh_width)
                   for y in _divisors(config.mesh_height)})


def default_teams(config: Config, layers: int) -> int:
    """How many teams run so many layers best.

    The team with most layers sets the pace: ``ceil(layers / teams)`` of them on a ``teams``-th of
    the cores, wherever weights stay or not. Of the numbers that are equally fast, the largest has
    least to exchange. Teams of one core would be a pipeline of layers, and a single team has no
    other one to pass a text to, so both are only taken where there is nothing else.
    """
    def cost(count: int) -> tuple[bool, bool, bool, int, int]:
        team = teams_of(config, count)[0]
        return (team.grid[0] > MOST_COLUMNS, count == 1, team.area.cores == 1,
                -(-layers // count) * count, -count)

    return min((count for count in team_counts(config) if count <= layers), key=cost)


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def _path(config: Config, across: int, down: int) -> Iterator[Area]:
    """Rectangles row by row and back again."""
    for row in range(down):
        for column in range(across):
            yield _area(config, across, down, column if row % 2 == 0 else across - 1 - column, row)


def _area(config: Config, across: int, down: int, column: int, row: int) -> Area:
    width, height = config.mesh_width // across, config.mesh_height // down
    return Area(column * width, (column + 1) * width - 1, row * height, (row + 1) * height - 1)
