"""Where a router sends a packet: along its row first, then along the column."""
import enum

from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from systolith.hw.mesh.config import COORDINATE_BITS


class Port(enum.IntEnum):
    """The ports of a router. An input is named after the neighbour that it hears."""

    LOCAL = 0
    NORTH = 1
    EAST = 2
    SOUTH = 3
    WEST = 4


#: The neighbour on the far side, and the step in x and y to each neighbour.
OPPOSITE = {Port.NORTH: Port.SOUTH, Port.EAST: Port.WEST, Port.SOUTH: Port.NORTH,
            Port.WEST: Port.EAST}
STEPS = {Port.NORTH: (0, -1), Port.EAST: (1, 0), Port.SOUTH: (0, 1), Port.WEST: (-1, 0)}

#: The outputs that an input reaches. No packet turns from its column into a row, or back: so no
#: circle of packets can wait for each other. Nothing comes back to the node that sent it.
TURNS = {
    Port.LOCAL: (Port.NORTH, Port.EAST, Port.SOUTH, Port.WEST),
    Port.NORTH: (Port.LOCAL, Port.SOUTH),
    Port.EAST: (Port.LOCAL, Port.NORTH, Port.SOUTH, Port.WEST),
    Port.SOUTH: (Port.LOCAL, Port.NORTH),
    Port.WEST: (Port.LOCAL, Port.NORTH, Port.EAST, Port.SOUTH),
}


class Place(wiring.Signature):
    """Coordinates of a node, constant while the mesh works."""

    def __init__(self):
        super().__init__({"x": Out(COORDINATE_BITS), "y": Out(COORDINATE_BITS)})


def outputs(target, place):
    """For each output, whether a packet for these nodes leaves there, if its input reaches it.

    A packet for several nodes is copied where their paths part: all nodes get it on the path that
    a packet for them alone would take.

    Parameters
    ----------
    target : View of target_layout()
        The nodes.
    place : Place
        Of the router.

    Returns
    -------
    dict[Port, Value]
        One bit each.
    """
    in_column = (target.x_first <= place.x) & (place.x <= target.x_last)
    in_row = (target.y_first <= place.y) & (place.y <= target.y_last)
    return {
        Port.LOCAL: in_column & in_row,
        Port.NORTH: in_column & (target.y_first < place.y),
        Port.EAST: target.x_last > place.x,
        Port.SOUTH: in_column & (target.y_last > place.y),
        Port.WEST: target.x_first < place.x,
    }
