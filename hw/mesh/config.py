"""Sizes of a mesh, checked, as :mod:`systolith.hw.config` does it for a core."""
import dataclasses
from dataclasses import dataclass

from systolith.hw.config import MOST_NODES, Config, ConfigError

#: Bits of a coordinate in a packet, for every mesh the same.
COORDINATE_BITS = (MOST_NODES - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class MeshConfig:
    """All sizes of a mesh.

    Parameters
    ----------
    width, height : int
        Nodes along x and y, 1 to 16. Node (0, 0) is in the north-west.
    bus_bytes : int
        Bytes of data in a packet: the ``bus_bytes`` of the cores; 4, 8 or 16.
    queue_depth : int
        Packets in each queue of a router; a power of two, 2 to 16. With 2, a link can be busy in
        every cycle; more hold bursts.
    crosspoint : bool
        A queue for each pair of an input and an output of a router, so that no packet waits behind
        one for another output; else a queue for each input.

    Raises
    ------
    ConfigError
        When a size is outside its limit.
    """

    width: int
    height: int
    bus_bytes: int = 16
    queue_depth: int = 4
    crosspoint: bool = True

    def __post_init__(self):
        if not isinstance(self.crosspoint, bool):
            raise ConfigError(f"crosspoint must be True or False, not {self.crosspoint!r}")
        self._check("width", 1, MOST_NODES)
        self._check("height", 1, MOST_NODES)
        self._check("bus_bytes", 4, 16, power=True)
        self._check("queue_depth", 2, 16, power=True)

    def _check(self, field, low, high, *, power=False):
        value = getattr(self, field)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"{field} must be an integer, not {value!r}")
        if not low <= value <= high or (power and value & (value - 1)):
            kind = "a power of two" if power else "an integer"
            raise ConfigError(f"{field} must be {kind} from {low} to {high}, not {value}")

    def replace(self, **changes) -> "MeshConfig":
        """A checked copy with some sizes changed."""
        return dataclasses.replace(self, **changes)

    @classmethod
    def of(cls, config: Config) -> "MeshConfig":
        """The mesh that joins the cores of a chip."""
        return cls(width=config.mesh_width, height=config.mesh_height, bus_bytes=config.bus_bytes)

    @property
    def nodes(self) -> int:
        """Nodes of the mesh. Node ``n`` is at x = n % width, y = n // width."""
        return self.width * self.height
